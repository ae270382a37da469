"""Targets that are rows of numbers, such as outputs of a teacher that were computed beforehand:
where they stand in an array of the user's frames, and where the rows that the model was given do.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.measures.row_partners import Partners, RowPartners
from surefit.observe.inside import events, finishing, own_code, spool
from surefit.observe.inside.experiments.trees import is_plain
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.training import periodic, readable
from surefit.observe.inside.training.frame_tables import (
    own_frames,
    tensor_of,
    variables_of,
    width_of,
)
from surefit.observe.inside.training.letters import noted
from surefit.observe.inside.training.model_rows import rows_of
from surefit.observe.inside.training.row_prints import prints_of
from surefit.observe.inside.training.under_way import now

LOSSES = frozenset(
    ("kl_div", "cross_entropy", "binary_cross_entropy_with_logits")
    + ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
)
BATCHES = 4
MOST_CALLS = 16
"""Losses until these must have come."""
ROWS = 32
"""Of a batch that are looked for."""
FEWEST_WIDTH = 4
"""Numbers of a target: with fewer, rows are alike once each is standardised."""
MOST_WIDTH = 1024
MOST_LENGTH = 20_000
MOST_ARRAYS = 8
EQUAL, DIFFERENT = 1e-3, 1e-2
"""Distances of standardised rows from the same row, at most, and from any other, at least."""

Batch = tuple[list[int], Any]
"""Prints of the input rows, and the targets of the first of them."""


@dataclass(slots=True)
class PartnerState:
    """Of this process."""

    looks: bool = False
    """A loss with such a target came; the inputs of the next ones are noted."""
    calls: int = 0
    forwards: int = 0
    """With gradients, since the last loss."""
    waiting: Any = None
    width: int = 0
    batches: list[Batch] = field(default_factory=list)
    partners: list[Partners] = field(default_factory=list)
    step: int = 0
    done: bool = False
    written: bool = False


state = PartnerState()


@events.on(events.forward_begun)
def forward_begun(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not state.looks or state.done:
        events.forward_begun.rest(forward_begun)
        return
    if not (now.grad and now.training) or not readable.can_look():
        return
    state.forwards += 1
    with readable.looking():
        state.waiting = rows_of(args, kwargs)


@events.on(events.loss_ended)
def lost(
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    _result: Any,
    _place: Place | None,
    grad: bool,
) -> None:
    if state.done:
        events.loss_ended.rest(lost)
        return
    target = args[1] if len(args) > 1 else kwargs.get("target")
    if not grad or name not in LOSSES or not _has_rows(target):
        if not state.looks:
            events.loss_ended.rest(lost, events.before_power_of_two(events.loss_ended.count))
        return
    if not state.looks:
        state.looks = True
        events.forward_begun.wake(forward_begun)
        return
    _note(target)
    state.calls += 1
    if len(state.batches) >= BATCHES or state.calls >= MOST_CALLS:
        state.done = True
        if len(state.batches) >= BATCHES and readable.can_look():
            with readable.looking():
                _examine()
        state.batches.clear()


def _has_rows(target: Any) -> bool:
    return (
        is_plain(target)
        and target.dim() == 2
        and target.dtype.is_floating_point
        and FEWEST_WIDTH <= int(target.shape[1]) <= MOST_WIDTH
        and not target.requires_grad
    )


def _note(target: Any) -> None:
    rows, forwards = state.waiting, state.forwards
    state.waiting, state.forwards = None, 0
    if rows is None or forwards != 1 or not rows.continuous or rows.width < 2:
        return
    if len(rows.exact) != int(target.shape[0]) or not readable.can_look():
        return
    if state.batches and rows.width != state.width:
        return
    with readable.looking():
        plain = readable.plain(target)
        if plain is not None and plain.is_cpu:
            state.width = rows.width
            state.batches.append((rows.exact, plain.detach()[:ROWS].double().clone()))


def _examine() -> None:
    state.step = noted.steps
    for frame in own_frames(3):
        state.partners += _partners(variables_of(frame), own_code.place(frame))


def _partners(values: dict[str, Any], place: Place) -> Iterator[Partners]:
    wide = int(state.batches[0][1].shape[1])
    tables = [(name, table) for name, table in values.items() if width_of(table) == state.width]
    others = [(name, table) for name, table in values.items() if width_of(table) == wide]
    for name, table in tables[:MOST_ARRAYS]:
        inputs = _positions(table)
        if not inputs:
            continue
        for other, stored in others[:MOST_ARRAYS]:
            if stored is table or len(stored) != len(table):
                continue
            targets = _target_positions(stored)
            if targets:
                yield _compared(place, (name, other), len(table), inputs, targets)


def _positions(table: Any) -> list[list[int | None]]:
    """Of the input rows of each batch; nothing where most of them are not in the table."""
    tensor = tensor_of(table)
    if tensor is None or not 2 <= len(tensor) <= MOST_LENGTH:
        return []
    prints = prints_of(tensor.float() if tensor.dtype is readable.torch().float64 else tensor)
    if prints is None:
        return []
    known = Counter(prints.exact)
    at = {row: number for number, row in enumerate(prints.exact) if known[row] == 1}
    return _if_most([[at.get(row) for row in rows] for rows, _ in state.batches])


def _target_positions(stored: Any) -> list[list[int | None]]:
    """As they are or scaled, or as the logits of which they are the softmax, at any
    temperature: each row is standardised."""
    tensor = tensor_of(stored)
    if tensor is None or not 2 <= len(tensor) <= MOST_LENGTH or tensor.dim() != 2:
        return []
    known = _standardised(tensor.double())
    targets = [target for _, target in state.batches]
    found = _if_most([_nearest(_standardised(target), known) for target in targets])
    if not found and all(bool((target >= 0).all()) for target in targets):
        found = _if_most([_nearest(_standardised(target.log()), known) for target in targets])
    return found


def _standardised(rows: Any) -> Any:
    centred = rows - rows.mean(1, keepdim=True)
    return centred / centred.std(1, keepdim=True)


def _nearest(rows: Any, known: Any) -> list[int | None]:
    mode = "donot_use_mm_for_euclid_dist"  # the other is not exact enough
    distances = readable.torch().cdist(rows, known, compute_mode=mode).nan_to_num(nan=1e9)
    nearest = distances.topk(2, largest=False)
    return [
        int(at) if first <= EQUAL and second >= DIFFERENT else None
        for (first, second), (at, _) in zip(
            nearest.values.tolist(), nearest.indices.tolist(), strict=True
        )
    ]


def _if_most(positions: list[list[int | None]]) -> list[list[int | None]]:
    every = [at for batch in positions for at in batch]
    return positions if 4 * sum(at is not None for at in every) >= 3 * len(every) else []


def _compared(
    place: Place,
    names: tuple[str, str],
    length: int,
    inputs: list[list[int | None]],
    targets: list[list[int | None]],
) -> Partners:
    both = [
        (first, second, batch)
        for batch, other in zip(inputs, targets, strict=True)
        for first, second in zip(batch, other, strict=False)
        if first is not None and second is not None
    ]
    return Partners(
        place=place,
        inputs=names[0],
        targets=names[1],
        length=length,
        rows=len(both),
        same=sum(first == second for first, second, _ in both),
        within=sum(second in batch for _, second, batch in both),
        follow=sum(len(batch) - 1 for batch in targets),
        inputs_follow=_following([batch[:ROWS] for batch in inputs]),
        targets_follow=_following(targets),
    )


def _following(positions: list[list[int | None]]) -> int:
    return sum(
        before is not None and after == before + 1
        for batch in positions
        for before, after in pairwise(batch)
    )


@finishing.at_end
@periodic.every_few_seconds
@guarded("rows of targets")
def write() -> None:
    if not state.done or state.written:
        return
    state.written = True
    spool.saw(RowPartners(process=spool.process(), step=state.step, partners=tuple(state.partners)))


@finishing.after_fork
def forget_parent() -> None:
    state.__init__()  # type: ignore[misc]
