"""How training uses the rows of loaders: in what order, how often, and how much of them."""

import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.row_use import LoaderUse, RowUse
from surefit.doctor.observations import Process
from surefit.observe.inside import epochs, events, finishing, own_code, spool
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import attributes, is_tensor, mapping
from surefit.observe.inside.identity import identity
from surefit.observe.inside.plain_lengths import plain_length
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic, readable, seeding
from surefit.observe.inside.training.budget import Budget
from surefit.observe.inside.training.class_weights import by_class
from surefit.observe.inside.training.coverage import (
    CopiedRows,
    DrawnRows,
    numbers_of,
    other_rows,
    planned_rows,
    read_at,
)
from surefit.observe.inside.training.drawing import drawn_by, generator_of, own_stack
from surefit.observe.inside.training.label_order import Labels, classes, labels_in
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.row_prints import RowPrints, prints_of
from surefit.observe.inside.training.under_way import now

MOST_LOADERS = 16
MOST_ITERATIONS = 32
MOST_BATCHES = 16
CLASS_LOSSES = ("cross_entropy", "nll_loss", "binary_cross_entropy_with_logits")
REST = 14
"""Losses that are passed over where there is no time for one."""
DATA_PARALLEL = ("DistributedDataParallel", "FullyShardedDataParallel")

MOST_REPLAYED = 8

budget = Budget(share=0.001, opening=0.05)
replay_budget = Budget(share=0.0005, opening=0.05)


@dataclass(slots=True)
class WaitingBatch:
    """A batch that no backward pass has followed yet."""

    use: "LoaderCount"
    content: int
    labels: list[int] | None
    iterator: int
    begins: bool
    numbers: list[int]


@dataclass(slots=True)
class LoaderCount:
    """Of one loader."""

    place: Place | None
    stack: tuple[Place, ...]
    taken_at: Place | None
    held: dict[str, Any]
    """What does not change from batch to batch, as the measure has it."""
    labels: Labels = field(default_factory=Labels)
    trained: int = 0
    iterations: list[int] = field(default_factory=list)
    finished: int = 0
    first: int = 0
    alike: int = 0
    repeated: int = 0
    asked: int = 0
    batches: list[int] = field(default_factory=list)
    last: int = 0
    iterator: int = 0
    serial: int = 0
    """Of the newest iterator."""
    ended: bool = False
    epochs: set[int] = field(default_factory=set)
    dataset: Callable[[], Any] = lambda: None
    drawn: DrawnRows | None = None
    copies: CopiedRows | None = None
    begun: dict[int, int] = field(default_factory=dict)
    """Content of the first training batches, by their order."""
    since: int = 0
    """Training calls after the end of the loader."""
    replayed: int = 0
    replays: bool = True
    """As far as it was looked at."""


class UseState:
    """Of this process."""

    def __init__(self) -> None:
        self.uses: dict[tuple[object, int], LoaderCount] = {}
        """By the lines that create a loader and by its dataset: a loader of each epoch is one."""
        self.stacks: dict[int, tuple[Place, ...]] = {}
        self.group: list[WaitingBatch] = []
        """Batches that came before the next call of a model."""
        self.called = False
        self.touched = False
        self.labels = Labels()
        self.several_losses = False
        self.parallel = False
        self.changed = False
        self.seeded = 0
        """Seeds that were set when this was written last."""
        self.process: Process | None = None
        """As it was while it trained: a group of ranks is often left before the end."""


state = UseState()


@after_import("torch.utils.data.dataloader")
def loaders(module: ModuleType) -> None:
    """Which of the user's lines lead to a loader, by what draws its batches."""
    from surefit.observe.inside.unseen import around

    kind = module.DataLoader
    kind.__init__ = around(kind.__init__, _is_made, _was_made)


def _is_made(_args: tuple[Any, ...], _kwargs: dict[str, Any]) -> bool:
    return True


def _was_made(args: tuple[Any, ...], _result: Any) -> None:
    held = attributes(args[0])
    sampler = held.get("batch_sampler")
    sampler = held.get("sampler") if sampler is None else sampler
    state.stacks[identity(sampler)] = own_stack(3)
    if len(state.stacks) > 4 * MOST_LOADERS:
        del state.stacks[next(iter(state.stacks))]


@events.on(events.batch_came)
def came(iterator: Any, batch: Any) -> None:
    held = attributes(iterator)
    sampler = held.get("_index_sampler")
    stack = state.stacks.get(identity(sampler), ())
    key = stack or identity(sampler), identity(held.get("_dataset"))
    use = state.uses.get(key)
    if use is None:
        if len(state.uses) >= MOST_LOADERS:
            return
        use = state.uses[key] = _first(held, sampler, stack)
        events.forward_begun.wake(called)
        events.backward_begun.wake(backward)
    begins = held.get("_num_yielded") == 1 or use.iterator != identity(iterator)
    if begins and batch is not None:
        use.serial += 1
        use.ended = False
    use.iterator = identity(iterator)
    if batch is None:
        state.changed = True
        use.asked += use.ended and use.trained > 0
        use.finished += not use.ended and use.trained > 0
        use.ended = True
        return
    if state.called:
        state.group, state.called, state.touched = [], False, False
    waiting = [pending for pending in state.group if pending.use is use]
    if len(waiting) > 1:  # rows that no model is called with
        state.group.remove(waiting[0])
    content, labels = 0, None
    numbers = numbers_of(held) if use.drawn is not None else []
    rows: RowPrints | None = None
    early = use.serial <= (MOST_ITERATIONS if begins else use.trained < MOST_REPLAYED)
    if (early or budget.allows()) and readable.can_look():
        with budget, readable.looking():
            rows = _rows(batch)
            content = _content(rows)
            if use.serial <= 1 and not use.labels.full:
                labels = labels_in(batch)
    if use.copies is not None:
        use.copies.add(rows.exact if rows is not None else [], use.serial)
    elif use.drawn is not None and rows is not None and rows.continuous and use.serial == 1:
        use.drawn.look(numbers, rows.exact)
    _note_epoch(use, sampler)
    state.group.append(WaitingBatch(use, content, labels, use.serial, begins, numbers))


@events.on(events.forward_begun)
def called(module: Any, args: tuple[Any, ...], _kwargs: dict[str, Any]) -> None:
    if state.touched and now.grad and now.training:
        _replayed(args)
    state.called = True
    if noted.steps and not state.uses:
        events.forward_begun.rest(called)
    if not noted.steps and type(module).__name__ in DATA_PARALLEL:
        state.parallel = True
        state.process = spool.process()


def _replayed(args: tuple[Any, ...]) -> None:
    """A model is trained though no batch has come since the last time: on a batch that a loader
    gave before, where that has ended."""
    for use in {id(pending.use): pending.use for pending in state.group}.values():
        if not use.ended or not use.replays or use.replayed >= MOST_REPLAYED:
            continue
        use.since += 1
        expected = use.begun.get(use.since)
        if expected is not None and replay_budget.allows() and readable.can_look():
            with replay_budget, readable.looking():
                use.replays = _content(_rows(args[:1])) == expected
            use.replayed += 1
            state.changed = True


@events.on(events.backward_begun)
def backward(_loss: Any) -> None:
    if state.touched or not state.group:
        if not state.uses:
            events.backward_begun.rest(backward)
        return
    state.touched = state.changed = True
    for pending in state.group:
        _trained(pending.use, pending)


def _trained(use: LoaderCount, pending: WaitingBatch) -> None:
    again = pending.iterator == len(use.iterations)
    use.trained += 1
    if not again and len(use.iterations) < MOST_ITERATIONS:
        use.iterations += [0] * (min(pending.iterator, MOST_ITERATIONS) - len(use.iterations))
    if use.iterations and pending.iterator <= len(use.iterations):
        use.iterations[pending.iterator - 1] += 1
    content = pending.content
    if content and pending.begins:
        use.alike += content == use.first
        use.first = use.first or content
        use.repeated += content == use.last
    if content and len(use.batches) < MOST_BATCHES:
        use.batches.append(content)
    if content and use.trained <= MOST_REPLAYED:
        use.begun[use.trained] = content
    use.last = content
    if use.drawn is not None:
        use.drawn.add(pending.numbers, pending.iterator)
    if pending.labels:
        use.labels.add(pending.labels)


@events.on(events.loss_ended)
def lost(
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    _result: Any,
    place: Place | None,
    grad: bool,
) -> None:
    """Where no loader is used, targets tell the order of rows."""
    if state.uses or state.labels.full:
        events.loss_ended.rest(lost)
        return
    if not grad or name not in CLASS_LOSSES:
        return
    if not budget.allows():
        events.loss_ended.rest(lost, REST)
    elif readable.can_look():
        with budget, readable.looking():
            labels = classes(args[1] if len(args) > 1 else kwargs.get("target"))
        if labels and state.labels.batches and state.labels.place != place:
            state.several_losses = True  # real and generated rows, say: no order of rows
        elif labels:
            state.labels.place = place
            state.labels.add(labels)
            state.changed = True


def _first(held: dict[str, Any], sampler: Any, stack: tuple[Place, ...]) -> LoaderCount:
    dataset = held.get("_dataset")
    rows = epochs.rows_of(dataset)
    known: dict[str, Any] = {
        "rows": rows if rows is not None else plain_length(dataset),
        "streams": held.get("_dataset_kind") == epochs.ITERABLE,
        "workers": held.get("_num_workers") or 0,
        "generator": generator_of(dataset) if held.get("_num_workers") else "",
        "drops": held.get("_drop_last") is True,
        **drawn_by(sampler),
    }
    if known["weights"] is not None and readable.can_look():
        with readable.looking():
            known.update(by_class(sampler, dataset))
    known["other_rows"], known["read_at"] = other_rows(sampler, dataset), read_at(dataset)
    use = LoaderCount(epochs.made_at(sampler), stack, own_code.own_place(), known)
    if known["streams"] and known["workers"] > 1:
        use.copies = CopiedRows(known["workers"])
    elif not known["streams"]:
        planned = planned_rows(sampler, dataset, known["rows"])
        use.drawn = DrawnRows(planned) if planned is not None else None
        use.dataset = _reference(dataset)
    return use


def _reference(dataset: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(dataset)
    except TypeError:  # a list, say
        return lambda: None


def _note_epoch(use: LoaderCount, sampler: Any) -> None:
    inner = attributes(sampler).get("sampler")
    epoch = attributes(inner).get("epoch")
    if type(epoch) is int and len(use.epochs) < MOST_ITERATIONS:
        use.epochs.add(epoch)


def _rows(batch: Any) -> RowPrints | None:
    """Of the first tensor of a batch that has rows."""
    return next((rows for tensor in _tensors(batch) if (rows := prints_of(tensor))), None)


def _content(rows: RowPrints | None) -> int:
    """The rows of a batch as one number that does not depend on their order in other batches."""
    return (hash(tuple(rows.exact)) or 1) if rows is not None else 0


def _tensors(batch: Any) -> Iterator[Any]:
    inside = mapping(batch)
    parts = list(inside.values()) if inside is not None else [batch]
    if type(batch) in (list, tuple):
        parts = list(batch)
    for part in parts:
        if is_tensor(part):
            yield part
        elif type(part) in (list, tuple):
            yield from (inner for inner in part if is_tensor(inner))


@finishing.at_end
@periodic.every_few_seconds
@guarded("how rows are used")
def write() -> None:
    seeds = seeding.seeds_seen()
    calls = (
        sum(site.calls for site in seeds) if spool.process().role == "worker" or noted.steps else 0
    )
    if not state.changed and calls == state.seeded:
        return
    state.changed, state.seeded = False, calls
    spool.saw(
        RowUse(
            process=state.process or spool.process(),
            steps=noted.steps,
            loaders=tuple(_seen(use) for use in state.uses.values() if use.trained),
            seeds=seeds,
            labels=None if state.several_losses else state.labels.order(),
            data_parallel=state.parallel,
        )
    )


def _seen(use: LoaderCount) -> LoaderUse:
    return LoaderUse(
        place=use.place,
        stack=use.stack,
        taken_at=use.taken_at,
        trained=use.trained,
        iterations=tuple(use.iterations),
        finished=use.finished,
        alike=use.alike,
        repeated=use.repeated,
        asked_after_the_end=use.asked,
        epochs_set=len(use.epochs),
        batches=tuple(use.batches),
        labels=use.labels.order(),
        coverage=use.drawn.measured(use.dataset()) if use.drawn is not None else None,
        copies=use.copies.measured(use.finished > 0) if use.copies is not None else None,
        replayed=use.replayed if use.replays else 0,
        **use.held,
    )


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
