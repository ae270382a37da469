"""Rows are padded while they are mapped, to the longest of each map batch and not of all.

## What happens
`padding=True` means "to the longest of this call". In `map(batched=True)` a call is given 1,000
rows, or `batch_size` of them: rows of one such batch have one length, those of the next another.
The loader draws its batches across them, and a collator that only stacks fails.

## Why it matters
With few rows there is just one map batch, and all is well: it fails once the dataset grows. A
loader that does not shuffle fails later still, where two map batches meet.

## What to do
Pad where the batch is created: `DataCollatorWithPadding(tokenizer)`, and no `padding` in `map`. Or
pad every row to the same length: `padding="max_length"` with a `max_length`.

## How it is recognised
The rows that a collator without padding was given have several lengths, and they come from several
calls that were given a list of texts and told to pad to the longest of them.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.inputs import RowsReachModel
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.observations import Script
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted, listed
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.stacking import RowColumn, UnequalLengths
from surefit.laws.rows.collators import SEQ2SEQ, TOKENIZED, WITH_PADDING, chooser_of
from surefit.laws.values.calls_on_the_way import calls_with
from surefit.lineage.producers import Producer
from surefit.remedies.arguments import SetArgument, call_at
from surefit.remedies.collators import GiveCollator

SYMPTOM = Symptom(
    r"stack expects each tensor to be equal size|expected sequence of length",
    "whether the tokenizer pads inside `map(batched=True)`, each map batch to its own longest row",
)
RULE = Rule("SF205", "padded-per-map-batch", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

LONGEST = (True, "longest")


@RULE.on(UnequalLengths)
def rows_come_from_map_batches_of_different_lengths(
    broken: UnequalLengths, case: Case
) -> Finding | None:
    columns = {column.name: column for column in broken.wrong}
    first = columns.get(TOKENIZED[0], broken.wrong[0])
    if broken.own or broken.pads or not set(columns) <= {*TOKENIZED, "labels"}:
        return None
    if not any("padding" in script.text for script in case.recording.all(Script)):
        return None
    padding = padding_call(first, case)
    if padding is None or broken.collator is None:
        return None
    call, texts = padding
    function = texts.function.rpartition(".")[2]
    name = f"`{function}`" if function.isidentifier() else "The function given to `map`"
    return case.finding(
        call.place,
        f"{name} pads to the longest row of each map batch, and the {counted(broken.rows, 'row')}"
        " of this batch come from map batches of different lengths.",
        facts=(
            Fact(f"lengths of {first.words}", listed(first.lengths)),
            Fact("rows in a map batch", f"{texts.value.length or 0:,}"),
            Fact("the collator", f"`{broken.by}`, which pads nothing"),
        ),
        why="`padding=True` knows the rows of one call alone; a loader draws from all of them.",
        remedies=remedies(broken, first, call, case),
    )


def padding_call(column: RowColumn, case: Case) -> tuple[Expression, Producer] | None:
    """The call on the lineage of the rows that pads to the longest of several texts, and the list
    of texts that it was given."""
    calls = calls_with(case, case.lineage_of_column(column.name), "padding", is_longest)
    return next(((call, given) for call, given in calls if is_several_texts(given)), None)


def is_several_texts(producer: Producer) -> bool:
    value = producer.value
    texts = [isinstance(member.scalar, str) for member in value.members.values()]
    of_text = set(value.kinds) == {"str"} or (bool(texts) and all(texts))
    return value.kind in ("list", "tuple", "Column") and (value.length or 0) > 1 and of_text


def is_longest(padding: ast.expr) -> bool:
    return isinstance(padding, ast.Constant) and padding.value in LONGEST


def remedies(
    broken: UnequalLengths, first: RowColumn, call: Expression, case: Case
) -> Iterator[Remedy]:
    assert broken.collator is not None
    source, node = call_at(case, call)
    if source and node and source.argument(node, "max_length") is not None:
        yield SetArgument(
            at=call,
            name="padding",
            value='"max_length"',
            words='Pad every row to the same length: `padding="max_length"`.',
            must=RowsReachModel((broken.rows, None), first.total, first.elements),
        )
    name = SEQ2SEQ if any(column.name == "labels" for column in broken.wrong) else WITH_PADDING
    yield GiveCollator(
        at=chooser_of(case, broken.collator),
        name=name,
        words=f"Pad where the batch is created: `{name}(tokenizer)`.",
        must=first.reaches_model(),
    )
