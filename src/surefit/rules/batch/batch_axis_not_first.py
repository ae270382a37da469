"""A layer that takes steps first was given rows first.

## What happens
`nn.LSTM`, `nn.GRU`, `nn.RNN`, `nn.MultiheadAttention` and the Transformer layers take (steps, rows,
features) unless they are created with `batch_first=True`. Given (rows, steps, features) they take
the rows for steps: a batch of 8 sequences of 20 steps becomes 20 sequences of 8.

## Why it matters
Without a state or a mask nothing complains: the layer then reads across the rows of a batch, and
every row depends on the others.

## What to do
`batch_first=True` where the layer is created. A key padding mask is (rows, steps) in either case.

## How it is recognised
A state, a mask or the labels have as many rows as the batch, and the layer counted as many rows as
there are steps. Where the predictions are too many or too few, a second run shows that they come
out of such a layer.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.observations import Layer
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Written
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.attention_rows import MaskRows
from surefit.laws.contracts.unequal_sides import UnequalSides
from surefit.laws.rows.batch_lines import assigned_has
from surefit.laws.rows.batches import first_sizes
from surefit.lineage.ways import (
    RECURRENT,
    constructor_of_weights,
    history,
    operation,
    shape,
    taken,
    users,
)
from surefit.remedies.append import Append
from surefit.remedies.arguments import SetArgument, call_at
from surefit.source.reading import called
from surefit.source.selection import the_only

SYMPTOMS = (
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
)
RULE = Rule("SF237", "batch-axis-not-first", Severity.ERROR, __doc__, symptoms=SYMPTOMS)
RECURRENT_LAYERS = ("LSTM", "GRU", "RNN")
ATTENTIVE = ("TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer")
LAYERS = (*RECURRENT_LAYERS, *ATTENTIVE, "MultiheadAttention")
SEQUENCES = 3
"""Axes of a batch of sequences: rows, steps, features."""


@dataclass(frozen=True, slots=True)
class StepsFirst:
    """What a layer took for rows, and what the batch has."""

    rows: int
    steps: int
    facts: tuple[Fact, ...]
    created: Written | None
    """The call that creates the layer."""
    call: Written | None = None
    """The call that runs it."""


@RULE.on(UnequalSides)
def layer_took_steps_for_rows(broken: UnequalSides, case: Case) -> Finding | None:
    if broken.layer is not None:
        state = by_state(broken, case)
        return finding(state, case, rows_first(case, state)) if state is not None else None
    taken = by_predictions(broken, case) if broken.of_loss and not broken.axis else None
    return finding(taken, case, broken.holds(case)) if taken is not None else None


@RULE.on(MaskRows)
def mask_has_the_rows_of_the_batch(broken: MaskRows, case: Case) -> Finding | None:
    sizes, mask = set(first_sizes(case)), broken.mask.shape
    over_positions = broken.argument == "attn_mask"
    if len(mask) != 2 or mask == broken.takes:
        return None
    rows, steps = (broken.takes[0], mask[0]) if over_positions else (mask[0], mask[1])
    facts = (Fact(code(broken.argument), shape_of(mask)), Fact("it takes", shape_of(broken.takes)))
    layer = case.crash.layer if case.crash is not None else None
    taken = StepsFirst(rows, steps, facts, created_by(case, layer))
    if rows in sizes and steps not in sizes and broken.rows == steps:
        return finding(taken, case, rows_first(case, taken))
    if not over_positions and steps in sizes and rows not in sizes and mask == broken.takes[::-1]:
        return turned_mask(broken, case, taken)
    return None


def by_state(broken: UnequalSides, case: Case) -> StepsFirst | None:
    """A state has the rows of the batch, and the layer took its steps for rows."""
    sizes = set(first_sizes(case))
    layers = [frame for frame in reversed(case.frames) if frame.layer is not None]
    inputs = [value.shape or () for frame in layers if (value := frame.value("input"))]
    given = next((known for known in inputs if len(known) == SEQUENCES), ())
    if given[:2] != (broken.size, broken.expected) or (sizes and given[0] not in sizes):
        return None
    rows, steps = given[:2]
    facts = (
        Fact("its input", f"{shape_of(given)}: {rows} rows of {steps} steps"),
        Fact("the state it was given", f"{shape_of(broken.side.shape)}, for {rows} rows"),
        Fact("the state it expects", f"{shape_of(broken.other.shape)}, for {steps} rows"),
    )
    return StepsFirst(rows, steps, facts, created_by(case, broken.layer))


def by_predictions(broken: UnequalSides, case: Case) -> StepsFirst | None:
    """As many predictions as steps: they come out of a layer that took steps for rows."""
    if not any(created_in(case, RECURRENT_LAYERS)):
        return None
    lineage = case.lineage(broken.side)
    path = history(lineage, broken.size)
    for producer in path:
        given = [known for known in taken(lineage, producer) if len(shape(known)) == SEQUENCES]
        is_recurrent = operation(producer) in RECURRENT and bool(given)
        if not is_recurrent or shape(given[0])[:2] != (broken.expected, broken.size):
            continue
        created = constructor_of_weights(lineage, producer) or only(case, RECURRENT_LAYERS)
        if created is None or not takes_steps_first(case, created):
            return None
        counts = f"{broken.expected} rows of {broken.size} steps"
        facts = (
            Fact("its input", f"{shape_of(shape(given[0]))}: {counts}"),
            Fact("it returned", f"{shape_of(shape(producer))}, for {broken.size} rows"),
        )
        call = running_call(case, users(path, producer))
        return StepsFirst(broken.expected, broken.size, facts, created, call)
    return None


def running_call(case: Case, user: Written) -> Written | None:
    """`self.rnn(x)` of the statement in which a name got what the layer returned."""
    source = case.source(user.place)
    calls = list(source.calls_in(user.place.line or 0)) if source is not None else []
    return case.expression(source, calls[0]) if source is not None and calls else None


def created_by(case: Case, layer: Layer | None) -> Written | None:
    """Where a layer is a copy and its own line is not known, the only call of its kind."""
    created = case.constructor(layer) if layer is not None else None
    if created is not None and takes_steps_first(case, created):
        return created
    kinds = RECURRENT_LAYERS if layer is not None and layer.kind in RECURRENT_LAYERS else ATTENTIVE
    return only(case, kinds)


def only(case: Case, kinds: tuple[str, ...]) -> Expression | None:
    return the_only(created_in(case, kinds))


def created_in(case: Case, kinds: tuple[str, ...]) -> Iterator[Expression]:
    """Calls of the user's that create layers which take steps first."""
    for source, call in case.recording.every(ast.Call):
        known = case.expression(source, call)
        if called(call) in kinds and takes_steps_first(case, known):
            yield known


def takes_steps_first(case: Case, created: Written) -> bool:
    source, node = call_at(case, created)
    if source is None or node is None or called(node) not in LAYERS:
        return False
    option = source.argument(node, "batch_first")
    hidden = any(keyword.arg is None for keyword in node.keywords)
    return not hidden and (option is None or ast.unparse(option) == "False")


def finding(taken: StepsFirst, case: Case, must: Condition | None) -> Finding:
    assert case.own is not None
    _, node = call_at(case, taken.created)
    kind = called(node) if node is not None else "the layer"
    return case.finding(
        (taken.created or case.own).place,
        f"`{kind}` without `batch_first=True` takes the {taken.steps} steps of this batch for rows,"
        f" and its {taken.rows} rows for steps.",
        facts=taken.facts,
        why="It takes (steps, rows, features), and was given (rows, steps, features).",
        remedies=ways(taken, case, must),
    )


def ways(taken: StepsFirst, case: Case, must: Condition | None) -> Iterator[Remedy]:
    yield SetArgument(
        at=taken.created,
        name="batch_first",
        value="True",
        words="Rows come first: `batch_first=True` where the layer is created.",
        must=must,
    )
    given = case.argument(taken.call, "input", 0)
    if given is not None:
        text = code(f"{given.text}.transpose(0, 1)")
        yield Append(
            at=given,
            suffix=".transpose(0, 1)",
            words=f"Give it steps first, as the lines after it read what it returns: {text}.",
            must=must,
            alike=False,
        )


def rows_first(case: Case, taken: StepsFirst) -> Condition | None:
    return assigned_has(case, (taken.rows, taken.steps, None))


def turned_mask(broken: MaskRows, case: Case, taken: StepsFirst) -> Finding:
    text = broken.mask.use.text if broken.mask.use is not None else "the mask"
    return case.finding(
        broken.use.place,
        f"A key padding mask is (rows, steps) for every layer, and {code(text)} has the"
        f" {taken.rows} steps first and the {taken.steps} rows second.",
        facts=taken.facts,
        why="The input of a layer without `batch_first=True` is (steps, rows, features); its key"
        " padding mask is (rows, steps) all the same.",
        remedies=(
            Append(
                at=broken.mask.use,
                suffix=".transpose(0, 1)",
                words=f"Transpose the mask: {code(text + '.transpose(0, 1)')}.",
                must=rows_first(case, taken),
            ),
        ),
    )
