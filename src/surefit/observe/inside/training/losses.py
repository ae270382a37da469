"""Calls of loss functions: from where, on what shapes, and how many labels take part."""

import functools
import inspect
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType, ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import LossCall, LossGiven
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.events import loss_begun, loss_ended
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import divergences, readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.constant_tails import Tails
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.under_way import now
from surefit.observe.inside.unseen import around

NAMES = (
    "cross_entropy",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "kl_div",
    "poisson_nll_loss",
    "gaussian_nll_loss",
    "soft_margin_loss",
    "multilabel_soft_margin_loss",
    "multilabel_margin_loss",
    "multi_margin_loss",
    "hinge_embedding_loss",
)
IGNORING = frozenset({"cross_entropy", "nll_loss"})
"""Losses that pass over one label, -100 unless said otherwise."""
OVER_CLASSES = {"cross_entropy": 1, "nll_loss": 1, "kl_div": -1}
"""Losses whose predictions are meant to be unbounded or logarithms, and the axis of classes."""
MOST_ELEMENTS = 65_536
"""Of predictions that are looked at in a call."""
MOST_PLACES = 64
LOOKED_AT = 1_000_000
"""Elements of predictions whose range is read in a proof run; as many as an autopsy reads."""
NEAR = 1e-3
MOST_SITES = 4096
CALLER = 3
"""Frames between `note` and what calls a loss function."""
MOST_GIVEN = 200
"""Calls from one line of which a proof run writes down what each was given."""

training = Budget(share=0.0015, opening=0.1)
evaluation = Budget(share=0.0015, opening=0.1)


@dataclass(slots=True)
class Calls:
    """Of one function from one line, with or without gradients."""

    name: str
    place: Place | None
    training: bool
    calls: int = 0
    looked: int = 0
    labels: int = 0
    supervised: int = 0
    probabilities: int = 0
    shape: tuple[int, ...] = ()
    target_shape: tuple[int, ...] = ()
    dtype: str = ""
    target_dtype: str = ""
    each: list[LossGiven] = field(default_factory=list)
    tail: Tails = field(default_factory=Tails)
    target_tail: Tails = field(default_factory=Tails)


_calls: dict[tuple[str, Place | None, bool], Calls] = {}
Site = tuple[str, int, int, bool]
_sites: dict[Site, tuple[Calls, CodeType | None]] = {}
"""By code and instruction, because finding the line takes long in a long script. The code is kept,
so that its id stays its own."""


@after_import("torch.nn.functional")
def functions(module: ModuleType) -> None:
    for name in NAMES:
        if hasattr(module, name):
            setattr(module, name, watched(name, getattr(module, name)))


def watched(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    ignored = _place_of(plain, "ignore_index") if name in IGNORING else None
    under_way: list[tuple[Place | None, FrameType | None, dict[str, Any]]] = []
    under_loss: list[tuple[Calls, dict[str, Any]]] = []

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if now.losing or (args and type(args[0]).__name__ == "FakeTensor"):
            return False  # part of another loss, or of a compiler's trace
        calls, frame = note(name, args, kwargs, ignored)
        now.losing = True
        under_loss[:] = [(calls, kwargs)]
        loss_begun.count += 1
        if loss_begun.count >= loss_begun.due:
            events.call(loss_begun, name, args, kwargs, calls.place, calls.training)
        if calls.training and divergences.wanted(name):
            under_way[:] = [(calls.place, frame, kwargs)]
        return True

    def end(args: tuple[Any, ...], result: Any) -> None:
        now.losing = False
        if under_loss:
            calls, kwargs = under_loss.pop()
            loss_ended.count += 1
            if loss_ended.count >= loss_ended.due:
                given = args, kwargs, result, calls.place, calls.training
                events.call(loss_ended, name, *given)
            if not calls.training:
                events.tell(events.idle_loss_ended, name, args, kwargs, result, calls.place)
        if under_way:
            place, frame, kwargs = under_way.pop()
            divergences.note(name, place, frame, args, kwargs, result)

    return around(plain, begin, end)


def _place_of(function: Callable[..., Any], name: str) -> int:
    return list(inspect.signature(function).parameters).index(name)


def note(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], ignored: int | None
) -> tuple[Calls, FrameType | None]:
    grad = readable.torch().is_grad_enabled()
    nearest = sys._getframe(CALLER)
    frame: FrameType | None = nearest
    site = name, identity(nearest.f_code), nearest.f_lasti, grad
    known = _sites.get(site)
    if known is None:
        frame = own_code.own_frame(depth=CALLER)
        if frame is None:
            site = name, 0, 0, grad
        else:
            site = name, identity(frame.f_code), frame.f_lasti, grad
        known = _sites.get(site)
    calls = known[0] if known is not None else _first(site, frame)
    calls.calls += 1
    budget = training if grad else evaluation
    if noted.now >= budget.due and budget.allows() and readable.can_look():
        with budget, readable.looking():
            _look(calls, args, kwargs, ignored)
    return calls, frame


def count_of(name: str, place: Place | None) -> int:
    """Calls from a line with gradients."""
    calls = _calls.get((name, place, True))
    return calls.calls if calls is not None else 0


def _first(site: Site, frame: FrameType | None) -> Calls:
    name, _, _, grad = site
    place = own_code.place(frame) if frame is not None else None
    calls = _calls.setdefault((name, place, grad), Calls(name, place, grad))
    if len(_sites) < MOST_SITES:
        _sites[site] = calls, frame.f_code if frame is not None else None
    return calls


def _look(calls: Calls, args: tuple[Any, ...], kwargs: dict[str, Any], ignored: int | None) -> None:
    given = readable.plain(args[0] if args else kwargs.get("input"))
    target = readable.plain(args[1] if len(args) > 1 else kwargs.get("target"))
    if given is None or target is None:
        return
    calls.looked += 1
    calls.shape, calls.target_shape = tuple(given.shape), tuple(target.shape)
    calls.dtype, calls.target_dtype = str(given.dtype)[6:], str(target.dtype)[6:]
    classes = ignored is not None and not target.is_floating_point()
    count = _rows(target) if calls.name in IGNORING and not classes else target.numel()
    calls.labels += count
    if classes and ignored is not None:
        label = args[ignored] if len(args) > ignored else kwargs.get("ignore_index", -100)
        readable.read((target != label).sum(), functools.partial(_supervised, calls))
    else:
        label = None
        calls.supervised += count
    if spool.in_proof() and len(calls.each) < MOST_GIVEN:
        _write_down(calls, given, target, label)
    _look_for_probabilities(calls, given)
    if calls.name == "kl_div":
        calls.tail.look(given)
        calls.target_tail.look(target)


def _write_down(calls: Calls, predictions: Any, target: Any, ignored: Any) -> None:
    """What this very call is given, to be compared with what it was given before a patch."""
    kept = target if ignored is None else target[target != ignored]
    shapes = calls.shape, calls.dtype, calls.target_shape, calls.target_dtype
    step, count = noted.steps, int(kept.numel())

    range_ = _range(predictions)

    def add(total: float) -> None:
        calls.each.append(LossGiven(step, *shapes, count, float(total), *range_))

    readable.read(kept.double().sum(), add)


def _range(predictions: Any) -> tuple[float | None, float | None]:
    """Least and greatest, as the autopsy of a crash has them; None where reading them would wait
    for a device, or some are not finite."""
    if predictions.device.type != "cpu" or not 0 < predictions.numel() <= LOOKED_AT:
        return None, None
    least, greatest = readable.torch().aminmax(predictions.detach())
    found = float(least), float(greatest)
    return found if all(map(math.isfinite, found)) else (None, None)


def _rows(target: Any) -> int:
    """Of targets that are distributions over the classes."""
    return int(target.numel() // max(1, target.shape[1] if target.dim() > 1 else target.numel()))


def _supervised(calls: Calls, count: int) -> None:
    calls.supervised += count


def _look_for_probabilities(calls: Calls, given: Any) -> None:
    axis = OVER_CLASSES.get(calls.name)
    if axis is None or given.dim() < 2 or not given.is_floating_point() or not given.numel():
        return
    rows = given if axis == -1 else given.movedim(1, -1)
    while rows.dim() > 2:
        rows = rows[..., 0, :] if rows.shape[0] > 1 else rows[0]
    classes = int(rows.shape[-1])
    if classes < 2:
        return
    rows = rows[: max(1, min(MOST_PLACES, MOST_ELEMENTS // classes))]
    signs = rows.min()

    def add(found: Any) -> None:
        if found >= 0 and ((rows.float().sum(-1) - 1).abs() < NEAR).all():
            calls.probabilities += 1

    if signs.device.type == "cpu":
        add(signs.item())
    else:
        near = ((rows.float().sum(-1) - 1).abs() < NEAR).all() & (signs >= 0)
        readable.read(near, functools.partial(_probable, calls))


def _probable(calls: Calls, near: bool) -> None:
    calls.probabilities += bool(near)


def seen() -> tuple[LossCall, ...]:
    return tuple(
        LossCall(
            one.name,
            one.place,
            one.calls,
            one.looked,
            one.labels,
            one.supervised,
            one.shape,
            one.target_shape,
            one.dtype,
            one.target_dtype,
            one.training,
            one.probabilities,
            tuple(one.each),
            one.tail.columns,
            one.tail.share,
            one.target_tail.columns,
            one.target_tail.share,
        )
        for one in _calls.values()
    )


@finishing.after_fork
def forget_parent() -> None:
    _calls.clear()
    _sites.clear()
