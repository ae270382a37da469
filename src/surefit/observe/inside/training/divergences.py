"""The first calls of `kl_div`: what each compares, and the weight that it has in the loss."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod
from types import FrameType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import DistributionSeen, DivergenceSeen, PaddingSeen, TermSeen
from surefit.observe.inside import finishing, spool
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.padded_places import Padded, padded_places

DIVERGENCE = "kl_div"
OF_CLASSES = ("cross_entropy", "nll_loss")
BESIDE = frozenset({*OF_CLASSES, "binary_cross_entropy_with_logits", "mse_loss"})
"""Losses that stand beside a divergence."""
FIRST = 3
"""Calls from one line that are looked at, and after them each power of two."""
MOST, MOST_IN_PROOF = 12, 64
MOST_SITES = 8
MOST_BESIDE = 64
MOST_ELEMENTS = 1 << 21
"""Of each side, that are looked at in a call."""
NEAR, NEAR_IN_HALF = 1e-3, 2e-2
MOST_NODES = 16
PASSES_ON = ("Mul", "Div", "Neg", "ToCopy", "View", "Squeeze", "Unsqueeze", "Mean", "Sum", "Clone")
"""Functions of a graph that a loss goes through behind the sum of its terms."""
SHAPES = (
    *("View", "UnsafeView", "Reshape", "Slice", "Select", "Index", "ToCopy", "Clone", "Transpose"),
    *("Permute", "Squeeze", "Unsqueeze", "Alias", "MaskedSelect", "T"),
)
"""Functions of a graph that only pick values or move them."""

looks = Budget(share=0.001, opening=0.2)


@dataclass(slots=True)
class Noted:
    """A call, until a backward pass has gone through it."""

    place: Place | None
    step: int
    reduction: str
    log_target: bool
    shape: tuple[int, ...]
    given: DistributionSeen
    target: DistributionSeen
    value: float | None
    temperature: float | None
    contributions: Any
    """Divergence of each place looked at, on its device; None once it is told."""
    chosen: Any
    """Which places are looked at; None: all."""
    blank: Any
    """Which of these are rows of nothing but zeros."""
    padded: Padded | None
    per_place: float
    looked: int
    weight: float | None = None
    place_weight: float | None = None
    padding: PaddingSeen | None = None
    number: int = 0
    """Of the backward pass that went through it."""


@dataclass(slots=True)
class Beside:
    """A call of another loss, once a backward pass has gone through it."""

    term: TermSeen
    number: int


@dataclass(slots=True)
class Site:
    """A line that computes divergences."""

    calls: int = 0
    looked: int = 0


@dataclass(slots=True)
class Seen:
    """All that was noted so far."""

    sites: dict[Place | None, Site] = field(default_factory=dict)
    divergences: list[Noted] = field(default_factory=list)
    beside: list[Beside] = field(default_factory=list)
    asked: int = 0
    """Calls of losses beside that were looked at since the last divergence."""
    sums: dict[int, float] = field(default_factory=dict)
    """Gradient that arrived at the sum of the terms, by the number of the backward pass."""
    number: int = 0


_seen = Seen()
waiting = False
"""Whether a call waits for its backward pass."""


def wanted(name: str) -> bool:
    """Asked at every call of a loss: whether what it gives back is to be looked at."""
    if name == DIVERGENCE:
        return True
    return name in BESIDE and bool(_seen.sites) and _seen.asked < MOST_BESIDE


@guarded("divergences")
def note(
    name: str,
    place: Place | None,
    frame: FrameType | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
) -> None:
    """Said when a loss has been computed."""
    if result is None or not result.requires_grad:
        return
    if name != DIVERGENCE:
        if not readable.can_look():
            return
        _seen.asked += 1
        with readable.looking():
            _note_beside(name, place, args, kwargs, result)
        return
    site = _seen.sites.get(place)
    if site is None:
        if len(_seen.sites) >= MOST_SITES:
            return
        site = _seen.sites[place] = Site()
    site.calls += 1
    if _is_due(site) and looks.allows() and readable.can_look():
        site.looked += 1
        with looks, readable.looking():
            _note_divergence(place, frame, args, kwargs, result)


def _is_due(site: Site) -> bool:
    if spool.in_proof():
        return site.looked < MOST_IN_PROOF
    calls = site.calls
    return (calls <= FIRST or not calls & (calls - 1)) and site.looked < MOST


def _note_beside(
    name: str, place: Place | None, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> None:
    target = readable.plain(args[1] if len(args) > 1 else kwargs.get("target"))
    if result.grad_fn is None or target is None:
        return
    classes = name in OF_CLASSES and not target.is_floating_point()
    ignored = int((target == kwargs.get("ignore_index", -100)).sum()) if classes else 0
    labels = int(target.numel())
    parts = 1 if kwargs.get("reduction", "mean") == "mean" else max(1, labels - ignored)
    value = float(result.detach().sum()) / parts

    def arrived(gradient: Any) -> None:
        apart = gradient.numel() > 1
        of_mean = float(gradient.sum()) * (1 if apart else parts)
        left_out = int((gradient == 0).sum()) if apart else ignored
        term = TermSeen(name, place, value, of_mean, labels, left_out)
        _seen.beside.append(Beside(term, _seen.number))

    _when_passed(result.grad_fn, arrived)


def _note_divergence(
    place: Place | None,
    frame: FrameType | None,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    result: Any,
) -> None:
    given: Any = args[0] if args else kwargs.get("input")
    target: Any = args[1] if len(args) > 1 else kwargs.get("target")
    here, there = readable.plain(given), readable.plain(target)
    if here is None or there is None or here.shape != there.shape or here.dim() < 2:
        return
    if len(args) > 2 or kwargs.get("size_average") is not None or kwargs.get("reduce") is not None:
        return  # an old way to say the reduction
    if not (here.is_floating_point() and there.is_floating_point()) or not here.numel():
        return
    one = _looked_at(place, frame, here, there, kwargs, result)
    one.temperature = temperature_of(given.grad_fn)
    _seen.divergences.append(one)
    _seen.asked = 0

    def arrived(gradient: Any) -> None:
        _weigh(one, gradient)

    _when_passed(result.grad_fn, arrived)


def _looked_at(
    place: Place | None,
    frame: FrameType | None,
    given: Any,
    target: Any,
    kwargs: dict[str, Any],
    result: Any,
) -> Noted:
    shape = tuple(int(size) for size in given.shape)
    log_target = bool(kwargs.get("log_target", False))
    sides = [given.detach().reshape(-1, shape[-1]), target.detach().reshape(-1, shape[-1])]
    places = prod(shape[:-1])
    most = max(1, MOST_ELEMENTS // shape[-1])
    chosen = None
    if places > most:
        step = places / most
        chosen = readable.torch().arange(most, device=given.device).mul(step).long()
        sides = [side[chosen.to(side.device)] for side in sides]
    rows = [side.float() for side in sides]
    contributions = divergence_of(rows[0], rows[1], log_target)
    return Noted(
        place,
        noted.steps,
        str(kwargs.get("reduction", "mean")),
        log_target,
        shape,
        _distribution(given, rows[0]),
        _distribution(target, rows[1]),
        float(result.detach()) if result.numel() == 1 else None,
        None,
        contributions,
        chosen,
        (rows[0] == 0).all(-1) & (rows[1] == 0).all(-1),
        padded_places(shape[:-1], frame),
        float(contributions.mean()),
        int(contributions.numel()),
    )


def divergence_of(given: Any, target: Any, log_target: bool) -> Any:
    """Of each row, as `kl_div` computes it."""
    if log_target:
        return (target.exp() * (target - given)).sum(-1)
    return (readable.torch().xlogy(target, target) - target * given).sum(-1)


def _distribution(tensor: Any, rows: Any) -> DistributionSeen:
    least, greatest = float(rows.min()), float(rows.max())
    kind = _kind(rows, least, greatest, tensor.element_size())
    if not kind and tensor.dim() > 2 and tensor.numel() <= MOST_ELEMENTS:
        over_second = tensor.detach().movedim(1, -1).reshape(-1, tensor.shape[1]).float()
        kind = _kind(over_second, least, greatest, tensor.element_size())
    return DistributionSeen(kind, least, greatest, bool(tensor.requires_grad))


def _kind(rows: Any, least: float, greatest: float, size: int) -> str:
    near = NEAR if size > 2 else NEAR_IN_HALF
    filled = rows[(rows != 0).any(-1)]
    if rows.shape[-1] < 2 or not filled.numel():
        return ""
    if least >= 0 and bool(((filled.sum(-1) - 1).abs() < near).all()):
        return "probabilities"
    if greatest <= near and bool(((filled.exp().sum(-1) - 1).abs() < near).all()):
        return "logarithms"
    return ""


def _weigh(one: Noted, gradient: Any) -> None:
    """With what arrived at the result of a call: a number, or one for each element."""
    one.number = _seen.number
    classes, places = one.shape[-1], prod(one.shape[:-1])
    if gradient.numel() == 1 and one.reduction != "none":
        one.weight = arrived = float(gradient)
        parts = {"mean": places * classes, "batchmean": one.shape[0], "sum": 1}
        weights = one.contributions.new_full(
            one.contributions.shape, arrived / parts.get(one.reduction, 1)
        )
    else:
        rows = gradient.detach().reshape(-1, classes)
        rows = rows if one.chosen is None else rows[one.chosen.to(rows.device)]
        weights = rows.float().mean(-1)
    weights = weights.masked_fill(one.blank, 0.0)
    one.place_weight = float(weights.sum()) * places / max(1, weights.numel())
    if one.padded is not None:
        one.padding = _padding(one, one.padded, weights)
    one.contributions = one.chosen = one.blank = one.padded = None


def _padding(one: Noted, padded: Padded, weights: Any) -> PaddingSeen:
    at = padded.places.to(weights.device)
    looked = at if one.chosen is None else at[one.chosen.to(at.device)]
    parts = (weights * one.contributions).abs()
    whole = float(parts.sum())
    held = padded.held
    return PaddingSeen(
        int(at.sum()),
        int((weights[looked] != 0).sum()),
        int((weights[looked] == 0).sum()),
        float(parts[looked].sum()) / whole if whole else None,
        held.text if held.here else "",
        "" if held.here else held.text,
        padded.padding_is,
        padded.shifted,
    )


def _when_passed(node: Any, then: Callable[[Any], None]) -> None:
    """Calls with the gradient that arrives at a function of a graph, once."""
    global waiting
    if node is None:
        return
    told: list[bool] = []

    @guarded("the weight of a loss")
    def look(gradients: tuple[Any, ...]) -> None:
        if not told and gradients and gradients[0] is not None:
            told.append(True)
            with readable.looking():
                then(gradients[0])

    def before(gradients: tuple[Any, ...]) -> None:
        look(gradients)

    node.register_prehook(before)
    waiting = True


def passes(loss: Any, number: int) -> None:
    """Said when a backward pass begins: the sum of the terms is looked for near its end."""
    global waiting
    waiting = False
    _seen.number = number
    node = getattr(loss, "grad_fn", None)
    for _ in range(MOST_NODES):
        if node is None:
            return
        before = [one for one, _ in node.next_functions if one is not None]
        name = node.name()
        if name.startswith(("Add", "Sub")) and len(before) > 1:
            break
        if len(before) != 1 or not name.startswith((*PASSES_ON, "Add", "Sub")):
            return
        node = before[0]
    else:
        return

    def arrived(gradient: Any) -> None:
        if gradient.numel() == 1:
            _seen.sums[number] = float(gradient)

    _when_passed(node, arrived)
    waiting = False


def temperature_of(node: Any) -> float | None:
    """What logits were divided by right before the softmax that this function of a graph belongs
    to, 1 where by nothing; None where no softmax is near. A division further back is a model's."""
    softened = False
    for _ in range(MOST_NODES):
        if node is None:
            break
        name = node.name()
        if softened and name.startswith("Div"):
            return _divisor(node)
        if name.startswith(("LogSoftmax", "Softmax")):
            softened = True
        elif not name.startswith(SHAPES if softened else (*SHAPES, "Log", "Clamp", "Add")):
            break
        before = [one for one, _ in node.next_functions if one is not None]
        node = before[0] if len(before) == 1 else None
    return 1.0 if softened else None


def _divisor(node: Any) -> float | None:
    held = getattr(node, "_saved_other", None)
    return float(held) if held is not None and held.numel() == 1 else None


def seen() -> tuple[DivergenceSeen, ...]:
    return tuple(_told())


def _told() -> Iterator[DivergenceSeen]:
    for one in _seen.divergences:
        whole = _seen.sums.get(one.number) if one.number else None
        scale = whole or 1.0
        beside = [
            TermSeen(
                term.name, term.place, term.value, term.weight / scale, term.labels, term.ignored
            )
            for term in (other.term for other in _seen.beside if other.number == one.number)
        ]
        yield DivergenceSeen(
            one.place,
            one.step,
            one.reduction,
            one.log_target,
            one.shape,
            one.given,
            one.target,
            one.value,
            one.per_place,
            one.temperature,
            None if one.weight is None else one.weight / scale,
            None if one.place_weight is None else one.place_weight / scale,
            whole is not None,
            tuple(beside) if one.number else (),
            one.padding,
            one.looked,
        )


@finishing.after_fork
def forget_parent() -> None:
    global waiting
    _seen.__init__()  # type: ignore[misc]
    waiting = False
