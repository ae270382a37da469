"""Gradients that are cleared or clipped: a letter each."""

from types import ModuleType
from typing import Any

from surefit.observe.inside import events
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.events import gradients_cleared
from surefit.observe.inside.training import letters
from surefit.observe.inside.training.under_way import now
from surefit.observe.inside.unseen import around


def noting(owner: Any, name: str, letter: str) -> None:
    """Wraps a function of a library so that each call is noted before it runs."""

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        letters.note(letter)
        if letter == "Z":
            now.cleared = True
            gradients_cleared.count += 1
            if gradients_cleared.count >= gradients_cleared.due:
                events.call(gradients_cleared, args[0])
        else:
            events.tell(events.gradients_clipped, name, args, kwargs)
        return False

    setattr(owner, name, around(getattr(owner, name), begin))


@after_import("torch.optim.optimizer")
def clearing_by_optimizer(module: ModuleType) -> None:
    noting(module.Optimizer, "zero_grad", "Z")


@after_import("torch.nn.modules.module")
def clearing_by_module(module: ModuleType) -> None:
    noting(module.Module, "zero_grad", "Z")


@after_import("torch.nn.utils.clip_grad")
def clipping(module: ModuleType) -> None:
    for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_"):
        if hasattr(module, name):
            noting(module, name, "C")
