"""A reshape to a fixed width made several rows of each row of the batch.

## What happens
`x.view(-1, 64)` makes rows of 64 numbers of whatever is there, and as many as it takes. If a
picture has more positions than that, because pictures are larger or pooled less, each becomes
several rows: 32 pictures with 2 × 2 positions become 128 rows, and there are 32 labels.

## Why it matters
The reshape never fails, and the complaint comes from the loss, which is right. Labels repeated to
fit, or an average over the loss, train on rows that are mixtures of positions and channels.

## What to do
Pool to a fixed size, whatever the size of the pictures: `nn.AdaptiveAvgPool2d(1)`. Write
`x.flatten(1)` for `x.view(-1, n)`: it never touches the batch axis, and a wrong width is then said
where it arises.

## How it is recognised
What the failing call compares has rows on both sides, of one a multiple of those of the other. A
second run records every operation; back from the side with more rows there is a reshape that was
given as many rows as the other side has.
"""

import ast
from collections.abc import Iterator
from math import isqrt, prod

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.loss_rows import RowsAtTheLoss
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of, times
from surefit.evidence.folded_rows import Fold, Rows, call_of_fold, fold_of, made_by, uneven_rows
from surefit.evidence.frame_names import name_in
from surefit.evidence.pooling_layers import Pooling, pooling_at
from surefit.evidence.value_stories import line_of
from surefit.source.edits import replaced, wrapped
from surefit.source.reading import Source, called

RULE = Rule(
    "SF232",
    "rows-folded-into-the-batch",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Expected input batch_size \(\d+\) to match target batch_size \(\d+\)",
            "whether a reshape to a fixed width made several rows of each row of the batch",
        ),
        Symptom(
            r"[Tt]arget size \(torch\.Size.* (must be the same as|is different to) .*input size",
            "whether the predictions have several rows for each label, and which reshape made them",
        ),
    ),
)

SEQUENCE = 3
"""Axes of rows, times and features."""
POOLS = ("avg_pool", "max_pool")
ONLY_YOU = "only you know what each row should be"


@RULE.on(Crash)
def reshape_made_more_rows(crash: Crash, seen: Recording) -> Iterator[Finding]:
    rows = uneven_rows(crash) if is_cause(crash, seen) else None
    fold = fold_of(crash, rows, seen) if rows else None
    if rows is None or fold is None or fold.operation.place is None:
        return
    pooling = pooling_before(fold, seen)
    place = fold.operation.place
    if pooling is not None and mends_here(fold, pooling):
        place = Place(pooling.source.file, pooling.call.lineno, pooling.call.end_lineno)
    positions = rows.predicted // rows.labelled
    yield RULE.finding(
        place,
        f"{code(reshape_text(fold, seen))} makes {positions} rows of each row of the batch:"
        f" {rows.predicted} = {times((rows.labelled, *extra(fold, positions)))}, and"
        f" {code(labels_name(crash, rows))} has {rows.labelled}.",
        facts=tuple(facts(crash, rows, fold, seen)),
        why=why(fold),
        fixes=tuple(fixes(crash, rows, fold, pooling, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def extra(fold: Fold, positions: int) -> tuple[int, ...]:
    """The axes that went into the batch, where they are just as many."""
    sides = fold.before[2:]
    if is_sequence(fold):
        return (fold.before[1],)
    return sides if prod(sides) == positions else (positions,)


def is_sequence(fold: Fold) -> bool:
    """Rows, times and features, of which the features stay together."""
    return len(fold.before) == SEQUENCE and fold.before[-1] == fold.width


def reshape_text(fold: Fold, seen: Recording) -> str:
    source = seen.source(fold.operation.place)
    call = reshape_call(source, fold) if source else None
    return source.segment(call) if source and call else line_of(fold.operation, seen)


def labels_name(crash: Crash, rows: Rows) -> str:
    frame = crash.own_frame
    return (name_in(frame, rows.labels) if frame else None) or rows.labels.text


def predictions_name(crash: Crash, rows: Rows) -> str | None:
    frame = crash.own_frame
    return name_in(frame, rows.predictions) if frame else None


def facts(crash: Crash, rows: Rows, fold: Fold, seen: Recording) -> Iterator[Fact]:
    predictions = predictions_name(crash, rows)
    yield Fact(
        code(predictions) if predictions else "the predictions",
        shape_of(rows.predictions.shape or ()),
    )
    yield Fact(code(labels_name(crash, rows)), shape_of(rows.labels.shape or ()))
    before, after = shape_of(fold.before), shape_of(fold.operation.shape)
    yield Fact("folded at", f"{fold.operation.place}  {before} becomes {after}")
    made = fold.given
    if made.place is not None and made.place != fold.operation.place:
        yield Fact("which comes from", f"{made.place}  {line_of(made, seen)}")


def why(fold: Fold) -> str:
    each = times(fold.before[1:])
    return (
        f"One row of the batch holds {each} = {prod(fold.before[1:])} numbers, and rows of"
        f" {fold.width} are made of them; `-1` takes up the rest, on the batch axis."
    )


def pooling_before(fold: Fold, seen: Recording) -> Pooling | None:
    """The pooling that decided how many positions there are."""
    last = list(made_by(fold))[-1]
    return pooling_at(last, seen) if last.name.startswith(POOLS) else None


def is_pooled_to_one(fold: Fold) -> bool:
    """A single position has the width that the reshape wants: all channels."""
    return (
        len(fold.before) > SEQUENCE - 1 and fold.before[1] == fold.width and not is_sequence(fold)
    )


def mends_here(fold: Fold, pooling: Pooling) -> bool:
    return is_pooled_to_one(fold) and pooling.used == 1


def fixes(
    crash: Crash, rows: Rows, fold: Fold, pooling: Pooling | None, seen: Recording
) -> Iterator[Fix]:
    must = condition(crash, rows)
    if is_sequence(fold):
        yield from of_times(fold)
        return
    if pooling is not None and mends_here(fold, pooling):
        yield Fix(
            f"Pool to one position, whatever the size of the input:"
            f" {code(pooled_text(pooling))} gives {shape_of((rows.labelled, fold.width))}, one row"
            " for each label.",
            replaced(pooling.source, pooling.call, pooled_text(pooling)),
            must,
        )
    else:
        yield from at_the_reshape(fold, must, seen)
    flat = prod(fold.before[1:])
    yield Fix(
        f"Or keep all {flat} numbers of a row: `flatten(1)`, and a layer behind it that takes"
        f" {flat} features instead of {fold.width}.",
        why_not_tried="it makes another layer of it; whether you want one is yours to say",
    )


def pooled_text(pooling: Pooling) -> str:
    """Of a function the input stays, whatever follows it goes."""
    call, source = pooling.call, pooling.source
    if pooling.is_layer:
        return f"{pooling.adaptive}(1)"
    given = source.segment(call.args[0]) if call.args else "input"
    return f"{pooling.adaptive}({given}, 1)"


def at_the_reshape(fold: Fold, must: Condition, seen: Recording) -> Iterator[Fix]:
    """Maps are pooled to the size that the declared width is made for."""
    source = seen.source(fold.operation.place)
    call = reshape_call(source, fold) if source else None
    side = side_for(fold)
    if source is None or call is None or side is None or not isinstance(call.func, ast.Attribute):
        yield Fix(
            f"Give it rows of {fold.width} numbers: other channels or another size, where the data"
            " are made.",
            why_not_tried=ONLY_YOU,
        )
        return
    axes = len(fold.before) - 2
    before = functional(source)
    function = f"{before or 'F'}.adaptive_avg_pool{axes}d"
    given = call.func.value
    edit = wrapped(source, given, f"{function}(", f", {side})") if before else None
    sizes = times((fold.before[1], *(side,) * axes))
    yield Fix(
        f"Pool to the size that {fold.width} = {sizes} was made for:"
        f" `{function}({source.segment(given)}, {side})` before the reshape. It averages"
        " neighbouring positions, as smaller pictures would.",
        edit,
        must,
        "" if edit else "`torch.nn.functional` is not imported here",
    )


def functional(source: Source) -> str:
    """What the file calls `torch.nn.functional`; empty where it has no name for it."""
    for node in source.every(ast.alias):
        name, known = node.asname or node.name, source.parents.get(node)
        full = f"{known.module}.{node.name}" if isinstance(known, ast.ImportFrom) else node.name
        if full == "torch.nn.functional":
            return name
    for node in source.every(ast.alias):
        name, known = node.asname or node.name, source.parents.get(node)
        full = f"{known.module}.{node.name}" if isinstance(known, ast.ImportFrom) else node.name
        if full in ("torch.nn", "torch"):
            return f"{name}.functional" if full == "torch.nn" else f"{name}.nn.functional"
    return ""


def reshape_call(source: Source, fold: Fold) -> ast.Call | None:
    line = fold.operation.place.line if fold.operation.place else None
    statement = source.statement_at(line) if line else None
    call = call_of_fold(statement) if statement else None
    return call if call is not None and called(call) in ("view", "reshape") else None


def side_for(fold: Fold) -> int | None:
    """Positions along each side of a map that would have had the width."""
    channels, axes = fold.before[1], len(fold.before) - 2
    if axes not in (1, 2) or fold.width % channels or came_from_outside(fold):
        return None
    positions = fold.width // channels
    if axes == 1:
        return positions
    side = isqrt(positions)
    return side if side * side == positions else None


def came_from_outside(fold: Fold) -> bool:
    """What is folded are the data themselves, and no layer's map."""
    return not any(one.name == "parameter" for one in fold.story if one.serial < fold.given.serial)


def of_times(fold: Fold) -> Iterator[Fix]:
    steps = fold.before[1]
    yield Fix(
        f"If a row has one label: take one of its {steps} steps before the reshape, `[:, -1]`, or"
        " their mean, `.mean(1)`.",
        why_not_tried=ONLY_YOU,
    )
    yield Fix(
        f"If each of the {steps} steps has a label: give labels of {steps} steps for each row.",
        why_not_tried=ONLY_YOU,
    )


def condition(crash: Crash, rows: Rows) -> Condition:
    """As many rows of predictions as labels, at the line that failed; or where a loss is called."""
    frame = crash.own_frame
    predictions, labels = predictions_name(crash, rows), labels_name(crash, rows)
    behind = (rows.predictions.shape or ())[1:]
    if frame is None or predictions is None:
        return RowsAtTheLoss(rows.labelled)
    wanted = (Wanted(predictions, (rows.labelled, *behind)), Wanted(labels, rows.labels.shape))
    return ValuesAt(frame.place, wanted)
