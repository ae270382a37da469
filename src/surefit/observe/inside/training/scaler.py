"""Gradient scalers: what they unscale, and the steps that they leave out."""

from types import ModuleType
from typing import Any

from surefit.observe.inside import finishing
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.training import backward, letters, readable
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.unseen import around

_skipped = 0
_before = 0, 0


@after_import("torch.amp.grad_scaler")
def scalers(module: ModuleType) -> None:
    kind = module.GradScaler
    kind.scale = around(kind.scale, _is_on, _scaled)
    kind.unscale_ = around(kind.unscale_, _unscales)
    kind.step = around(kind.step, _begin, _end)


def _is_on(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    return bool(vars(args[0]).get("_enabled"))


def _scaled(args: tuple[Any, ...], result: Any) -> None:
    if len(args) > 1 and result is not None:
        backward.scaled(args[1], result)


def _unscales(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if _is_on(args, kwargs):
        letters.note("U")
    return False


def _begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    global _before
    if not _is_on(args, kwargs):
        return False
    letters.note("A")
    _before = noted.steps, _skipped
    return True


def _end(args: tuple[Any, ...], _result: Any) -> None:
    if (noted.steps, _skipped) == _before and len(args) > 1:
        _left_out(args[0], args[1])


def _left_out(scaler: Any, optimizer: Any) -> None:
    """No step was seen. Only if a gradient was not finite did the scaler leave it out: optimizers
    that are none of torch's step unseen."""
    state = vars(scaler).get("_per_optimizer_states", {}).get(id(optimizer), {})
    found = state.get("found_inf_per_device", {})
    with readable.looking():
        if any(float(one) > 0 for one in found.values()):
            skip()


def skip() -> None:
    global _skipped
    _skipped += 1
    letters.note("X")
    letters.end_cycle()


def count_skipped() -> None:
    """Found out later, from a device, about a step that was taken for done."""
    global _skipped
    _skipped += 1


def skipped() -> int:
    return _skipped


@finishing.after_fork
def forget_parent() -> None:
    global _skipped
    _skipped = 0
