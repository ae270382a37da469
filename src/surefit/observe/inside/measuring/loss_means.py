"""What a backward pass goes back from: the mean of a loss function, as it came or divided."""

import weakref
from types import ModuleType
from typing import Any

from surefit.observe.inside import events, finishing
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.training import readable
from surefit.observe.inside.unseen import around

CLOSE = 1e-5
MOST = 8
MEANS = ("mean", "batchmean")


class Means:
    """Means that loss functions gave since the last backward pass."""

    def __init__(self) -> None:
        self.wanted = False
        self.values: list[float] = []
        self.root: Any = None
        """A weak reference to the loss of the running pass."""
        self.divided: bool | None = None
        """Whether that was a mean divided by a number; None where this is not known."""
        self.scaler: Any = None
        """A weak reference to the gradient scaler that multiplied a loss last."""


seen = Means()


@after_import("torch.amp.grad_scaler")
def scalers(module: ModuleType) -> None:
    kind = module.GradScaler
    kind.scale = around(kind.scale, _multiplies)


def _multiplies(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    if vars(args[0]).get("_enabled"):
        seen.scaler = weakref.ref(args[0])
    return False


def scale() -> float:
    """The factor of the scaler in use; 1 without any."""
    scaler = seen.scaler() if seen.scaler is not None else None
    factor = vars(scaler).get("_scale") if scaler is not None else None
    if factor is None or not readable.can_look():
        return 1.0
    with readable.looking():
        return float(factor)


@events.on(events.loss_ended)
def comes_a_loss(
    _name: str, _args: Any, kwargs: dict[str, Any], result: Any, _place: Any, grad: bool
) -> None:
    if not seen.wanted:
        events.loss_ended.rest(comes_a_loss)
        return
    if not grad or result is None or not readable.can_look():
        return
    with readable.looking():
        plain = readable.plain(result)
        if plain is None or plain.numel() != 1 or kwargs.get("reduction", "mean") not in MEANS:
            seen.values.append(float("nan"))
        else:
            seen.values.append(float(plain))
    del seen.values[:-MOST]


def want(wanted: bool) -> None:
    """Whether the next backward passes are looked at."""
    seen.wanted = wanted
    seen.values.clear()
    if wanted:
        events.loss_ended.wake(comes_a_loss)


def goes_back(loss: Any) -> None:
    """A backward pass begins that is looked at."""
    values = seen.values[:]
    seen.values.clear()
    seen.root, seen.divided = None, None
    if type(loss) in (tuple, list):
        loss = loss[0] if len(loss) == 1 else None
    plain = readable.plain(loss) if loss is not None else None
    if plain is None or plain.numel() != 1:
        return
    seen.root = weakref.ref(loss)
    if len(values) == 1 and values[0] == values[0] and values[0]:
        ratio = float(plain) / scale() / values[0]
        if abs(ratio - 1) < CLOSE:
            seen.divided = False
        elif 0 < ratio < 1 and abs(1 / ratio - round(1 / ratio)) < CLOSE * round(1 / ratio):
            seen.divided = True


@finishing.after_fork
def forget_parent() -> None:
    seen.__init__()  # type: ignore[misc]
