"""Rows are padded while they are mapped, to the longest of each map batch and not of all.

## What happens
`padding=True` means "to the longest of this call". In `map(batched=True)` a call sees 1,000 rows,
or `batch_size` of them: rows of one such batch have one length, those of the next another. The
loader draws its batches across, and a collator that only stacks cannot put them together.

## Why it matters
With few rows there is just one map batch, and all is well: it fails once the dataset grows. A
loader that does not shuffle fails later still, where two map batches meet.

## What to do
Pad where the batch is made: `DataCollatorWithPadding(tokenizer)`, and no `padding` in `map`. Or pad
every row to the same length: `padding="max_length"` with a `max_length`.

## How it is recognised
The rows that a collator without padding was given have several lengths, and the function that made
their columns was given to `map` with `batched=True` and pads to the longest of its call.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.inputs import RowsReachModel
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import CollatorSeen, Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted, listed
from surefit.evidence.padding_edits import (
    PADS,
    TOKENIZED,
    collator_given,
    loader_call,
    trainer_call,
)
from surefit.evidence.ragged_columns import Ragged, ragged_columns
from surefit.evidence.row_makers import given_function, is_batched, maps, name_of
from surefit.source.edits import argument_added
from surefit.source.reading import Function, Source

RULE = Rule(
    "SF205",
    "padded-per-map-batch",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"stack expects each tensor to be equal size|expected sequence of length",
            "whether the tokenizer pads inside `map(batched=True)`, each map batch to its own"
            " longest row",
        ),
    ),
)

PADS_LABELS = "DataCollatorForSeq2Seq"
LABELS = "labels"
MAP_BATCH = 1000


@RULE.on(Crash)
def map_batches_differ(crash: Crash, seen: Recording) -> Iterator[Finding]:
    collator = crash.collator
    if collator is None or collator.own or collator.pads or not is_cause(crash, seen):
        return
    ragged = ragged_columns(collator)
    if not ragged or any(one.column not in (*TOKENIZED, LABELS) for one in ragged):
        return
    for script in seen.all(Script):
        source = seen.source(script.file)
        for mapped, function, call in padded_in_maps(source) if source else ():
            assert source is not None
            yield told(crash, collator, ragged, source, mapped, function, call)
            return


def told(
    crash: Crash,
    collator: CollatorSeen,
    ragged: list[Ragged],
    source: Source,
    mapped: ast.Call,
    function: Function,
    call: ast.Call,
) -> Finding:
    first = next((one for one in ragged if one.column == TOKENIZED[0]), ragged[0])
    name = (
        "The function given to `map`" if name_of(function) == "lambda" else f"`{name_of(function)}`"
    )
    size = source.argument(mapped, "batch_size", 4)
    return RULE.finding(
        Place(source.file, call.lineno, call.end_lineno),
        f"{name} pads to the longest row of each map batch, and the"
        f" {counted(collator.rows, 'row')} of this batch come from map batches of different"
        " lengths.",
        facts=(
            Fact(f"lengths of {first.name}", listed([shape[0] for shape in first.shapes])),
            Fact("rows in a map batch", source.segment(size) if size else f"{MAP_BATCH:,}"),
            Fact("the collator", f"`{collator.kind}`, which pads nothing"),
        ),
        why="`padding=True` knows the rows of one call alone; a loader draws from all of them.",
        fixes=tuple(fixes(crash, source, call, ragged, first, collator)),
        python_said=crash.chain[0].said if crash.chain else crash.said,
        about=crash.id,
    )


def padded_in_maps(source: Source) -> Iterator[tuple[ast.Call, Function, ast.Call]]:
    """A call of `map` with `batched=True`, its function, and the call in it that pads to the
    longest."""
    for mapped in maps(source):
        function = given_function(source, mapped)
        if function is None or not is_batched(source, mapped):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and pads_to_longest(source, node):
                yield mapped, function, node


def pads_to_longest(source: Source, call: ast.Call) -> bool:
    given = source.argument(call, "padding")
    return isinstance(given, ast.Constant) and given.value in (True, "longest")


def fixes(
    crash: Crash,
    source: Source,
    call: ast.Call,
    ragged: list[Ragged],
    first: Ragged,
    collator: CollatorSeen,
) -> Iterator[Fix]:
    place = collator.chosen_at or (crash.own_frame.place if crash.own_frame else None)
    loader = (loader_call(source, place) if place else None) or trainer_call(source)
    labels = any(one.column == LABELS for one in ragged)
    kind = PADS_LABELS if labels else PADS
    edit = collator_given(source, loader, kind) if loader is not None else None
    if source.argument(call, "max_length") is not None:
        shape = (len(first.shapes), None)
        yield Fix(
            'Pad every row to the same length: `padding="max_length"`.',
            argument_added(source, call, "padding", '"max_length"'),
            RowsReachModel(shape, first.total, first.elements),
        )
    yield Fix(
        f"Pad where the batch is made: `{kind}(tokenizer)`.",
        edit,
        RowsReachModel(first.padded, first.total, first.elements) if edit else None,
        "" if edit else "where the loader is made, or what the tokenizer is called, is not known",
    )
