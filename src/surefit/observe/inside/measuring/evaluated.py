"""Batches of the evaluation that is under way: their losses, and predictions beside targets."""

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.scoring.counts import ScoreCounts
from surefit.doctor.scoring.metrics import CLASSES, LOSSES, NUMBERS
from surefit.doctor.scoring.variants import Evaluated
from surefit.observe.inside import events, finishing
from surefit.observe.inside.autopsy.values import mapping
from surefit.observe.inside.identity import identity
from surefit.observe.inside.measuring import phases, readings
from surefit.observe.inside.measuring.phases import CallPhase
from surefit.observe.inside.training import readable
from surefit.observe.inside.training.budget import Budget

MOST_BATCHES = 2000
MOST_GROUPS = 16
MOST_ELEMENTS = 2_000_000
"""Of predictions that are compared with targets in one call."""
OVER_CLASSES = ("cross_entropy", "nll_loss")
OF_NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
MEANS = ("mean", "batchmean")
OF_BITS = ("binary_cross_entropy_with_logits",)

budget = Budget(share=0.004, opening=0.2)


@dataclass(slots=True)
class Group:
    """Batches of one loader, or of one stretch without one, by one line."""

    place: Place | None
    source: int
    ordinal: int
    """Among those of the same line since the last backward pass."""
    kinds: dict[str, Evaluated] = field(default_factory=dict)
    complete: bool = True

    def add(self, kind: str, read: readings.Readings) -> None:
        known = self.kinds.get(kind)
        if known is None:
            history = now.history.get((self.place, self.ordinal, kind), (None, None))
            known = self.kinds[kind] = Evaluated(kind, earlier=history[0], before=history[1])
        for mistake, counts in read.items():
            same = known.readings.setdefault(mistake, []) if mistake else known.batches
            same.append(counts)

    def batches(self, kind: str) -> list[ScoreCounts]:
        return self.kinds[kind].batches if kind in self.kinds else []


class EvaluationRound:
    """Since the last backward pass."""

    def __init__(self) -> None:
        self.groups: dict[tuple[Place | None, int], Group] = {}
        self.history: dict[tuple[Place | None, int, str], tuple[ScoreCounts, ScoreCounts]] = {}
        """By line and kind: all evaluations before, together, and the last of them."""
        self.source = 0
        """Number of the loader's epoch that batches come from."""
        self.iterator: Callable[[], Any] = lambda: None
        self.batch: list[Any] = []
        """References to the tensors of the last batch."""
        self.batches = 0
        self.left_out = 0
        self.count = 0


now = EvaluationRound()


@events.on(events.batch_came)
def batch_came(iterator: Any, batch: Any) -> None:
    if batch is None:
        now.iterator = lambda: None
        return
    if now.iterator() is not iterator:
        now.iterator = weakref.ref(iterator)
        now.source += 1
    inside = mapping(batch)
    members = inside.values() if inside is not None else batch
    if type(members) in (list, tuple) or inside is not None:
        tensor = readable.torch().Tensor
        now.batch = [weakref.ref(entry) for entry in members if tensor in type(entry).__mro__]


@events.on(events.backward_begun)
def backward_begun(_loss: Any) -> None:
    if now.groups:
        forget()
    events.backward_begun.rest(backward_begun)


def forget() -> None:
    """A backward pass begins: what was measured before belongs to training, or is over."""
    for group in now.groups.values():
        for kind, known in group.kinds.items():
            key = group.place, group.ordinal, kind
            if known.batches and (key in now.history or len(now.history) < MOST_GROUPS):
                last = known.whole()
                earlier = now.history[key][0] + last if key in now.history else last
                earlier.scores = []
                now.history[key] = earlier, last
    now.groups.clear()


def _group(place: Place | None) -> Group | None:
    key = place, now.source
    group = now.groups.get(key)
    if group is None and len(now.groups) < MOST_GROUPS:
        ordinal = sum(known.place == place for known in now.groups.values())
        group = now.groups[key] = Group(place, now.source, ordinal)
        now.count += 1
        events.backward_begun.wake(backward_begun)
    return group


@events.on(events.idle_loss_ended)
def loss_ended(name: str, args: Any, kwargs: Any, result: Any, place: Place | None) -> None:
    group = _group(place)
    if group is None or not group.complete:
        return
    now.batches += 1
    if len(group.batches(LOSSES)) >= MOST_BATCHES or not budget.allows() or not readable.can_look():
        group.complete = False
        now.left_out += 1
        return
    with budget, readable.looking():
        _look(group, name, args, kwargs, result)


def _look(group: Group, name: str, args: Any, kwargs: Any, result: Any) -> None:
    given = readable.plain(args[0] if args else kwargs.get("input"))
    target = readable.plain(args[1] if len(args) > 1 else kwargs.get("target"))
    value = readable.plain(result)
    if given is None or target is None or value is None or not value.is_cpu:
        group.complete = False
        return
    if value.numel() == 1 and kwargs.get("reduction", "mean") in MEANS:
        group.add(LOSSES, {readings.RIGHT: _loss(name, target, kwargs, float(value))})
    if given.numel() > MOST_ELEMENTS:
        return
    if name in OVER_CLASSES and not target.is_floating_point() and given.dim() > 1:
        group.add(CLASSES, readings.of_classes(given, target, axis=1))
    elif name in OF_BITS and given.numel() == target.numel():
        group.add(CLASSES, readings.of_classes(given, target))
    elif name in OF_NUMBERS and given.numel() == target.numel():
        group.add(NUMBERS, readings.of_numbers(given, target))


def _loss(name: str, target: Any, kwargs: Any, value: float) -> ScoreCounts:
    rows = int(target.shape[0]) if target.dim() else 1
    labels = int(target.numel())
    if name in OVER_CLASSES and not target.is_floating_point():
        ignored = kwargs.get("ignore_index", -100)
        labels = int((target != ignored).sum()) if type(ignored) is int else labels
    if kwargs.get("weight") is not None:
        labels = 1  # each counts by its class: the mean over labels is another
    return ScoreCounts(
        rows=rows,
        labels=labels,
        items=rows,
        loss=value * labels,
        loss_of_rows=value * rows,
        means=value,
    )


@events.on(phases.idle_called)
def called(site: CallPhase, args: Any, kwargs: Any, result: Any) -> None:
    """Predictions beside the targets of the batch that a loader gave, where just one tensor of it
    can be these."""
    if site.learned or not now.batch:
        return
    group = _group(site.place)
    if group is None or not group.complete:
        return
    now.batches += 1
    full = len(group.batches(CLASSES)) >= MOST_BATCHES
    if full or not budget.allows() or not readable.can_look():
        group.complete = False
        now.left_out += 1
        return
    with budget, readable.looking():
        _compare(group, args, kwargs, result)


def _compare(group: Group, args: Any, kwargs: Any, result: Any) -> None:
    inside = mapping(result)
    first = inside.get("logits") if inside is not None else next(phases.tensors(result), None)
    given = readable.plain(first)
    if given is None or not given.is_floating_point() or not given.is_cpu or not given.dim():
        return
    if given.numel() > MOST_ELEMENTS:
        return
    taken = {identity(entry) for entry in (*phases.tensors(args), *phases.tensors(kwargs))}
    tensors = [reference() for reference in now.batch]
    left = [entry for entry in tensors if entry is not None and identity(entry) not in taken]
    if inside is not None and "labels" in kwargs:
        left = [kwargs["labels"]]
    plain = [entry for tensor in left if (entry := readable.plain(tensor)) is not None]
    rows = [entry for entry in plain if entry.dim() and entry.shape[0] == given.shape[0]]
    if len(rows) != 1:
        return
    target = rows[0]
    whole = not target.is_floating_point()
    if whole and given.shape[:-1] == target.shape:
        _add_classes(group, readings.of_classes(given, target), inside is not None)
    elif whole and (given.shape[0], *given.shape[2:]) == tuple(target.shape):
        _add_classes(group, readings.of_classes(given, target, axis=1), inside is not None)
    elif given.numel() == target.numel():
        bits = whole or bool(((target == 0) | (target == 1)).all())
        if bits:
            _add_classes(group, readings.of_classes(given, target), inside is not None)
        else:
            group.add(NUMBERS, readings.of_numbers(given, target))


def _add_classes(group: Group, read: readings.Readings, has_loss: bool) -> None:
    """Where the model computes its loss itself, that loss tells which target belongs to which
    prediction."""
    known = group.kinds.get(CLASSES)
    last = known.batches[-1] if known is not None and has_loss else None
    on = read.pop(readings.ONE_ON, None)
    read.pop(readings.ONE_BEFORE, None)
    if known is None or last is None or len(known.batches) != len(group.batches(LOSSES)):
        group.add(CLASSES, read)
    elif on is not None and (on.right, on.labels) == (last.right, last.labels):
        unshifted = read[readings.RIGHT]
        known.readings.setdefault(readings.NOT_SHIFTED, []).append(unshifted)


@finishing.after_fork
def forget_parent() -> None:
    now.__init__()  # type: ignore[misc]
