"""Parameters of an optimizer that require grad and never get one, while others do."""

from collections.abc import Sequence
from types import ModuleType
from typing import Any
from weakref import ref

from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.identity import identity
from surefit.observe.inside.measuring.unstepped_weights import differs, sample
from surefit.observe.inside.training import hanging, readable
from surefit.observe.inside.training.parameters import Parameter
from surefit.observe.inside.unseen import around

FIRST = 4
"""The step of an optimizer at which it is looked at first; powers of two follow."""
MOST = 256
MOST_SAMPLED = 8

_loaded: dict[int, Any] = {}
"""Parameters that a state dict was loaded into: they come as they should be."""


@after_import("torch.nn.modules.module")
def loading(module: ModuleType) -> None:
    kind = module.Module
    kind.load_state_dict = around(kind.load_state_dict, _is_loaded, _was_loaded)


def _is_loaded(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    return True


def _was_loaded(args: tuple[Any, ...], _result: Any) -> None:
    with readable.looking():
        for hung in hanging.parameters(args[0]):
            _loaded[identity(hung.parameter)] = ref(hung.parameter)


def _is_ready(tensor: Any) -> bool:
    known = _loaded.get(identity(tensor))
    return known is not None and known() is tensor


class Missing:
    """What was missing at every look so far."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.looked = 0
        self.samples: dict[str, Any] = {}

    def is_due(self, step: int) -> bool:
        return step >= FIRST and not step & (step - 1) and (self.looked == 0 or bool(self.names))

    def look(
        self, parameters: Sequence[Parameter], held: Sequence[tuple[Any, dict[str, Any]]]
    ) -> None:
        if len(parameters) != len(held):
            return
        now = {
            known.name: tensor
            for known, (tensor, _) in zip(parameters, held, strict=True)
            if tensor.requires_grad and tensor.grad is None and known.absent == known.looked
        }
        if not self.looked:
            fresh = {name: tensor for name, tensor in now.items() if not _is_ready(tensor)}
            self.names = list(fresh)[:MOST]
            spread = self.names[:: max(1, len(self.names) // MOST_SAMPLED)]
            self.samples = {name: sample(fresh[name]) for name in spread}
        else:
            moved = any(
                name in now and differs(before, sample(now[name]))
                for name, before in self.samples.items()
            )
            self.names = [] if moved else [name for name in self.names if name in now]
        self.looked += 1
