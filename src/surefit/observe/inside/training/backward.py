"""Backward passes, and the loss that each was called on."""

import weakref
from threading import get_ident
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import DifferenceSeen
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.events import backward_begun, backward_ended
from surefit.observe.inside.identity import identity
from surefit.observe.inside.spool import could_not
from surefit.observe.inside.training import divergences, letters, readable
from surefit.observe.inside.training.differences import differences_in
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.loss_series import LossSeries
from surefit.observe.inside.training.readable import looking
from surefit.observe.inside.training.under_way import now
from surefit.observe.inside.unseen import around

MOST_SCALED = 16
"""Scaled losses that have not met their backward pass yet."""
READ_TOGETHER = 64
"""Losses on a device that are read in one go."""


class Backwards:
    """All backward passes so far."""

    def __init__(self) -> None:
        self.count = 0
        self.losses = LossSeries(spool.in_proof())
        self.at: Place | None = None
        self.ordinary: readable.Ordinary | None = None
        self.inside: list[bool] = []
        """Whether a module was running when each of those that run now began."""
        self.scaled: dict[int, tuple[Any, Any]] = {}
        """Id of a scaled loss -> reference to it, and the loss as it was before."""
        self.differences: list[DifferenceSeen] = []


seen = Backwards()


@after_import("torch.autograd")
def passes(module: ModuleType) -> None:
    setattr(module, "backward", around(vars(module)["backward"], begin, end))  # noqa: B010


def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        letters.note("B", under_way=True)
        seen.count += 1
        now.thread = get_ident()
        now.cleared = False
        if seen.at is None:
            seen.at = own_code.own_place()
        tensors: Any = args[0] if args else kwargs.get("tensors")
        if type(tensors) in (tuple, list) and len(tensors) == 1:
            tensors = tensors[0]
        if seen.count == 1:
            seen.differences = list(differences_in(getattr(tensors, "grad_fn", None)))
        if divergences.waiting:
            divergences.passes(tensors, seen.count)
        if seen.ordinary is None:
            seen.ordinary = readable.Ordinary()
        if not seen.scaled and seen.ordinary.is_ordinary(tensors) and tensors.numel() == 1:
            seen.losses.add(noted.steps, float(tensors.item()))  # the usual case, asked least
        elif readable.can_look():
            with looking():
                _read(tensors)
    except Exception as error:  # noqa: BLE001 - the user's backward pass runs in any case
        could_not("losses", error)
    seen.inside.append(now.inside)
    now.inside = True
    backward_begun.count += 1
    if backward_begun.count >= backward_begun.due:
        events.call(backward_begun, args[0] if args else kwargs.get("tensors"))
    return True


def end(_args: tuple[Any, ...], _result: Any) -> None:
    backward_ended.count += 1
    if backward_ended.count >= backward_ended.due:
        events.call(backward_ended)
    now.inside = seen.inside.pop() if seen.inside else False
    letters.ended()


def _read(loss: Any) -> None:
    plain = readable.plain(loss)
    if plain is None or plain.numel() != 1:
        return
    if seen.scaled:
        reference, unscaled = seen.scaled.pop(identity(loss), (None, None))
        if reference is not None and reference() is loss:
            plain = unscaled
    if plain.is_cpu:
        seen.losses.add(noted.steps, float(plain.item()))
        return
    step, losses = noted.steps, seen.losses
    readable.read(plain.detach().reshape(()), lambda value: losses.add(step, float(value)))
    if readable.waiting() >= READ_TOGETHER:
        readable.read_waiting()


def scaled(loss: Any, result: Any) -> None:
    """Said by a gradient scaler: this loss, times its scale, is that one."""
    with looking():
        plain = readable.plain(loss)
        if plain is None or plain.numel() != 1 or result is loss:
            return
        if len(seen.scaled) >= MOST_SCALED:
            seen.scaled.pop(next(iter(seen.scaled)))
        seen.scaled[identity(result)] = weakref.ref(result), plain.detach()


@finishing.after_fork
def forget_parent() -> None:
    seen.__init__()  # type: ignore[misc]
