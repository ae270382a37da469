"""Batches of the evaluation that is under way: their losses, and predictions beside targets."""

import weakref
from dataclasses import dataclass, field
from typing import Any

from surefit.doctor.findings import Place
from surefit.observe.inside import events, finishing
from surefit.observe.inside.autopsy.values import mapping
from surefit.observe.inside.identity import identity
from surefit.observe.inside.measuring import phases
from surefit.observe.inside.measuring.comparing import compared_classes, compared_numbers
from surefit.observe.inside.measuring.formulas import ClassBatch, LossBatch, NumberBatch
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
    losses: list[LossBatch] = field(default_factory=list)
    classes: list[ClassBatch] = field(default_factory=list)
    numbers: list[NumberBatch] = field(default_factory=list)
    complete: bool = True


class EvaluationRound:
    """Since the last backward pass."""

    def __init__(self) -> None:
        self.groups: dict[tuple[Place | None, int], Group] = {}
        self.earlier: dict[Place | None, list[LossBatch]] = {}
        """Of evaluations before, by line."""
        self.source = 0
        """Number of the loader's epoch that batches come from."""
        self.iterator = 0
        self.batch: list[Any] = []
        """References to the tensors of the last batch."""
        self.batches = 0
        self.left_out = 0
        self.count = 0


now = EvaluationRound()


@events.on(events.batch_came)
def batch_came(iterator: Any, batch: Any) -> None:
    if batch is None:
        now.iterator = 0
        return
    if identity(iterator) != now.iterator:
        now.iterator = identity(iterator)
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
        if group.losses and len(now.earlier) < MOST_GROUPS:
            earlier = now.earlier.setdefault(group.place, [])
            if len(earlier) < MOST_BATCHES:
                earlier += group.losses
    now.groups.clear()


def _group(place: Place | None) -> Group | None:
    key = place, now.source
    group = now.groups.get(key)
    if group is None and len(now.groups) < MOST_GROUPS:
        group = now.groups[key] = Group(place, now.source)
        now.count += 1
        events.backward_begun.wake(backward_begun)
    return group


@events.on(events.idle_loss_ended)
def loss_ended(name: str, args: Any, kwargs: Any, result: Any, place: Place | None) -> None:
    group = _group(place)
    if group is None or not group.complete:
        return
    now.batches += 1
    if len(group.losses) >= MOST_BATCHES or not budget.allows() or not readable.can_look():
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
    rows = int(target.shape[0]) if target.dim() else 1
    labels = int(target.numel())
    if name in OVER_CLASSES and not target.is_floating_point():
        ignored = kwargs.get("ignore_index", -100)
        labels = int((target != ignored).sum()) if type(ignored) is int else labels
    if kwargs.get("weight") is not None:
        labels = 1  # each counts by its class: the mean over labels is another
    if value.numel() == 1 and kwargs.get("reduction", "mean") in MEANS:
        group.losses.append(LossBatch(float(value), rows, labels))
    if given.numel() > MOST_ELEMENTS:
        return
    if name in OVER_CLASSES and not target.is_floating_point() and given.dim() > 1:
        group.classes.append(compared_classes(given.movedim(1, -1), target))
    elif name in OF_BITS and given.numel() == target.numel():
        group.classes.append(compared_classes(given, target))
    elif name in OF_NUMBERS and given.numel() == target.numel():
        group.numbers.append(compared_numbers(given, target))


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
    if not budget.allows() or len(group.classes) >= MOST_BATCHES or not readable.can_look():
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
        group.classes.append(compared_classes(given, target))
    elif whole and (given.shape[0], *given.shape[2:]) == tuple(target.shape):
        group.classes.append(compared_classes(given.movedim(1, -1), target))
    elif given.numel() == target.numel():
        bits = whole or bool(((target == 0) | (target == 1)).all())
        if bits:
            group.classes.append(compared_classes(given, target))
        else:
            group.numbers.append(compared_numbers(given, target))


@finishing.after_fork
def forget_parent() -> None:
    now.__init__()  # type: ignore[misc]
