"""A layer that takes steps first was given rows first.

## What happens
`nn.LSTM`, `nn.GRU`, `nn.RNN`, `nn.MultiheadAttention` and the Transformer layers take (steps, rows,
features) unless they are made with `batch_first=True`. Given (rows, steps, features) they take the
rows for steps: a batch of 8 sequences of 20 steps becomes 20 sequences of 8.

## Why it matters
Where no state and no mask is given, nothing complains: the layer then reads across the rows of a
batch, and every row sees the others.

## What to do
`batch_first=True` where the layer is made. A padding mask is (rows, steps) in either case.

## How it is recognised
A state, a mask or the labels have as many rows as the batch, by the loop over batches, and the
layer counted as many rows as there are steps. Where the predictions are too many or too few, a
second run tells that they come from the last state of such a layer.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.loss_rows import RowsAtTheLoss
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code
from surefit.evidence.folded_rows import Rows, rows_at_the_loss
from surefit.evidence.time_first_layers import TimeFirst, by_predictions, time_first_in
from surefit.source.edits import appended, argument_added
from surefit.source.reading import Source

RULE = Rule(
    "SF237",
    "batch-axis-not-first",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Expected hidden(\[\d\])? size \(.*\), got \[.*\]",
            "whether the two sizes are the rows and the steps of the batch",
        ),
        Symptom(
            r"Expected input batch_size \(\d+\) to match target batch_size",
            "whether the predictions have as many rows as the batch has steps",
        ),
        Symptom(
            r"key_padd(ed|ing)_mask.*(to be|shape of)|shape of the 2D attn_mask",
            "which axis of the input holds the rows, and whether the layer has `batch_first=True`",
        ),
    ),
)

NOT_FOUND = "no single call that makes this layer was found in your source"


@RULE.on(Crash)
def layer_took_steps_for_rows(crash: Crash, seen: Recording) -> Iterator[Finding]:
    found = time_first_in(crash, seen) if is_cause(crash, seen) else None
    frame = crash.own_frame
    if found is None or frame is None:
        return
    if found.mask_is_turned:
        yield turned_mask(crash, found, frame, seen)
    else:
        yield finding(crash, found, frame, condition(frame, found, seen))


@RULE.on(Crash)
def predictions_are_as_many_as_steps(crash: Crash, seen: Recording) -> Iterator[Finding]:
    rows = rows_at_the_loss(crash) if is_cause(crash, seen) else None
    found = by_predictions(crash, rows, seen) if rows else None
    if found is not None and rows is not None and crash.own_frame is not None:
        yield finding(crash, found, crash.own_frame, at_the_loss(crash.own_frame, rows))


def finding(crash: Crash, found: TimeFirst, frame: Frame, must: Condition | None) -> Finding:
    call, source = found.call, found.source
    place = Place(source.file, call.lineno) if source and call else frame.place
    return RULE.finding(
        place,
        f"`{found.what}` without `batch_first=True` takes the {found.steps} steps of this batch for"
        f" rows, and its {found.rows} rows for steps.",
        facts=tuple(Fact(name, said) for name, said in found.shown),
        why="It takes (steps, rows, features), and was given (rows, steps, features).",
        fixes=tuple(ways(found, must)),
        python_said=crash.said,
        about=crash.id,
    )


def ways(found: TimeFirst, must: Condition | None) -> Iterator[Fix]:
    call, source, given = found.call, found.source, found.turned
    if source is not None and given is not None:
        text = code(source.segment(given) + ".transpose(0, 1)")
        yield Fix(
            f"Give it steps first, as the lines behind it read what comes back: {text}.",
            appended(source, given, ".transpose(0, 1)"),
            must,
        )
        yield Fix(
            "Or say that rows come first, `batch_first=True`, and take the last step by"
            " `[:, -1]` behind it.",
            why_not_tried="it is the same in two places",
        )
        return
    yield Fix(
        "Say that rows come first, where the layer is made: `batch_first=True`.",
        argument_added(source, call, "batch_first", "True") if source and call else None,
        must,
        "" if call else NOT_FOUND,
    )


def condition(frame: Frame, found: TimeFirst, seen: Recording) -> Condition:
    """The failing line is passed, and gives back rows first; what goes in is as it was."""
    source = seen.source(frame.place)
    statement = source.statement_at(frame.place.line or 0) if source else None
    name = first_target(statement)
    if name:
        return ValuesAt(frame.place, (Wanted(name, (found.rows, found.steps, None)),), after=True)
    return RowsAtTheLoss(found.rows)


def first_target(statement: ast.stmt | None) -> str:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    target = statement.targets[0]
    return ast.unparse(target.elts[0] if isinstance(target, ast.Tuple) else target)


def at_the_loss(frame: Frame, rows: Rows) -> Condition:
    same = [one for one in frame.values if one.identity == rows.predictions.identity]
    labels = [one for one in frame.values if one.identity == rows.labels.identity]
    if not same or not labels:
        return RowsAtTheLoss(rows.labelled)
    behind = (rows.predictions.shape or ())[1:]
    wanted = Wanted(same[0].text, (rows.labelled, *behind))
    return ValuesAt(frame.place, (wanted, Wanted(labels[0].text, labels[0].shape)))


def turned_mask(crash: Crash, found: TimeFirst, frame: Frame, seen: Recording) -> Finding:
    source = seen.source(frame.place)
    node = padding_mask(source, frame) if source else None
    text = source.segment(node) if source and node else "the mask"
    turned = TimeFirst(found.what, found.steps, found.rows, found.shown)
    return RULE.finding(
        frame.place,
        f"A padding mask is (rows, steps) for every layer, and {code(text)} has the {found.steps}"
        f" steps first and the {found.rows} rows second.",
        facts=tuple(Fact(label, said) for label, said in found.shown),
        why="The input of a layer without `batch_first=True` is (steps, rows, features); its"
        " padding mask is (rows, steps) all the same.",
        fixes=(
            Fix(
                f"Turn the mask: {code(text + '.transpose(0, 1)')}.",
                appended(source, node, ".transpose(0, 1)") if source and node else None,
                condition(frame, turned, seen),
                "" if node else "the mask was not found in this line",
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def padding_mask(source: Source, frame: Frame) -> ast.expr | None:
    """What the failing call gives under a name that ends so, if it is one alone."""
    node = source.expression_at(frame.span) if frame.span else None
    named = node.keywords if isinstance(node, ast.Call) else []
    masks = [one.value for one in named if (one.arg or "").endswith("key_padding_mask")]
    return masks[0] if len(masks) == 1 else None
