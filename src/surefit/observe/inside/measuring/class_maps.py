"""Maps of class numbers: those that are resampled to numbers between them, and those that a loss
gets as targets. Both are known by how often they have which number, so that a map that is turned or
mirrored afterwards is still found."""

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.class_maps import ClassMaps, ResampledMaps
from surefit.doctor.observations import CallSite
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import is_a
from surefit.observe.inside.experiments.trees import is_plain
from surefit.observe.inside.measuring import phases
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.unseen import around

MOST_CALLS = 512
MOST_SITES = 16
MOST_PRINTS = 256
MOST_CLASSES = 64
MOST_ELEMENTS = 262_144
LARGEST = 4096
"""Class number."""
LOSSES = ("cross_entropy", "nll_loss")
BATCHES = 16
ROWS = 32
FEW = 1024
"""Elements that tell whether numbers are integers."""
FEWEST_ELEMENTS = 8

budget = Budget(share=0.002, opening=0.2)


@dataclass(slots=True)
class SiteCount:
    """Of one line."""

    function: str
    calls: int = 0
    classes: tuple[int, ...] = ()
    others: tuple[int, ...] = ()
    share: float = 0.0
    prints: dict[int, None] = field(default_factory=dict)


@dataclass(slots=True)
class MapState:
    """Of this process."""

    calls: int = 0
    sites: dict[CallSite, SiteCount] = field(default_factory=dict)
    pending: Any = None
    """What is being resampled."""
    batches: int = 0
    targets: dict[int, None] = field(default_factory=dict)
    looked: int = 0
    loss: str = ""
    place: Place | None = None
    changed: bool = False


state = MapState()


@after_import("torch.nn.functional")
def functions(module: ModuleType) -> None:
    for name in ("interpolate", "grid_sample"):
        vars(module)[name] = around(vars(module)[name], _tensor_begins, _tensor_ended(name))


@after_import("PIL.Image")
def pictures(module: ModuleType) -> None:
    kind = module.Image
    for name in ("resize", "rotate", "transform"):
        setattr(kind, name, around(vars(kind)[name], _picture_begins, _picture_ended(name)))


def _tensor_begins(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Not what a model does with its own features."""
    if state.calls >= MOST_CALLS or phases.current or not readable.can_look():
        return False
    value: Any = args[0] if args else kwargs.get("input")
    if not is_plain(value) or not value.is_cpu or not 0 < value.numel() <= MOST_ELEMENTS:
        return False
    if value.requires_grad or not budget.allows():
        return False
    state.calls += 1
    state.pending = value
    return True


def _tensor_ended(name: str) -> Any:
    def ended(_args: tuple[Any, ...], result: Any) -> None:
        value, state.pending = state.pending, None
        if not is_plain(result) or value is None or result.numel() > MOST_ELEMENTS:
            return
        with budget, readable.looking():
            classes = _classes(value)
            if classes is None:
                return
            parts = result.detach().double()
            torch = readable.torch()
            new = ~torch.isin(parts, torch.tensor(sorted(classes), dtype=parts.dtype))
            if not bool(new.any()):
                return
            for integers in (parts.trunc(), parts.round()):
                counts = _counts(integers)
                others = set(counts) - classes
                if others:
                    _note(name, classes, others, float(new.double().mean()), counts)

    return ended


def _picture_begins(args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    """Of one channel, and few numbers."""
    if state.calls >= MOST_CALLS or not budget.allows():
        return False
    picture = args[0]
    if not is_a(picture, "PIL.Image", "Image") or picture.mode != "L":
        return False
    if picture.size[0] * picture.size[1] > MOST_ELEMENTS:
        return False
    state.calls += 1
    with budget:
        counts = _histogram(picture)
    state.pending = set(counts) if len(counts) <= MOST_CLASSES else None
    return state.pending is not None


def _picture_ended(name: str) -> Any:
    def ended(_args: tuple[Any, ...], result: Any) -> None:
        classes, state.pending = state.pending, None
        if classes is None or not is_a(result, "PIL.Image", "Image") or result.mode != "L":
            return
        with budget:
            counts = _histogram(result)
            others = set(counts) - classes - {0}
            if others:
                share = sum(counts[other] for other in others) / sum(counts.values())
                _note(name, classes, others, share, counts)

    return ended


def _histogram(picture: Any) -> dict[int, int]:
    return {number: count for number, count in enumerate(picture.histogram()) if count}


def _classes(value: Any) -> set[int] | None:
    """Few integers, none below 0."""
    flat = value.detach().reshape(-1)
    few = flat[:FEW]
    if value.dtype.is_floating_point and bool((few != few.round()).any()):
        return None
    numbers = flat.unique()
    if not 1 < numbers.numel() <= MOST_CLASSES or bool((numbers != numbers.round()).any()):
        return None
    if float(numbers.min()) < 0 or float(numbers.max()) > LARGEST:
        return None
    return set(map(int, numbers.tolist()))


def _counts(integers: Any) -> dict[int, int]:
    torch = readable.torch()
    inside = integers.reshape(-1).clamp(0, LARGEST).long()
    counts = torch.bincount(inside).tolist()
    return {number: count for number, count in enumerate(counts) if count}


def _note(
    name: str, classes: set[int], others: set[int], share: float, counts: dict[int, int]
) -> None:
    frame = own_code.own_frame(depth=2)
    call = phases.written_call(frame.f_code, frame.f_lasti) if frame is not None else None
    if call is None or (call not in state.sites and len(state.sites) >= MOST_SITES):
        return
    site = state.sites.setdefault(call, SiteCount(name))
    site.calls += 1
    held = tuple(sorted(classes))
    if share > site.share:
        if held != site.classes:
            site.others = ()
        site.classes, site.share = held, share
    if held == site.classes:
        site.others = tuple(sorted({*site.others, *others}))
    if len(site.prints) < MOST_PRINTS:
        site.prints[_print(counts)] = None
    state.changed = True


def _print(counts: dict[int, int]) -> int:
    return hash(tuple(sorted(counts.items())))


@events.on(events.loss_ended)
def lost(
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    _result: Any,
    place: Place | None,
    grad: bool,
) -> None:
    if state.batches >= BATCHES:
        events.loss_ended.rest(lost)
        return
    state.batches += 1
    target: Any = args[1] if len(args) > 1 else kwargs.get("target")
    if not grad or name not in LOSSES or not is_plain(target) or not readable.can_look():
        return
    if target.dim() < 2 or target.dtype.is_floating_point or not target.is_cpu:
        return
    if target[0].numel() > MOST_ELEMENTS or target[0].numel() < FEWEST_ELEMENTS:
        return
    with budget, readable.looking():
        for row in target.detach()[:ROWS]:
            if budget.allows() and int(row.min()) >= 0 and int(row.max()) <= LARGEST:
                state.targets[_print(_counts(row))] = None
                state.looked += 1
    state.loss, state.place, state.changed = name, place, True


@finishing.at_end
@periodic.every_few_seconds
@guarded("maps of classes")
def write() -> None:
    if not state.changed:
        return
    state.changed = False
    sites = tuple(
        ResampledMaps(
            function=site.function,
            call=call,
            calls=site.calls,
            classes=site.classes,
            others=site.others,
            share=site.share,
            prints=tuple(site.prints),
        )
        for call, site in state.sites.items()
    )
    spool.saw(
        ClassMaps(
            process=spool.process(),
            resampled=sites,
            targets=tuple(state.targets),
            looked=state.looked,
            loss=state.loss,
            place=state.place,
        )
    )


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
