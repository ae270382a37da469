"""The state of a recurrent layer was carried over from a batch with another number of rows.

## What happens
A state has one column for each row of the batch that it came from. Handed on to the next batch it
fits as long as that has as many rows; the last batch of an epoch has what is left over.

## Why it matters
It happens at the end of the first epoch, or in the evaluation after it. Cut to size, the state of
one text continues in another; with a loader that shuffles it does so in every batch.

## What to do
Where batches continue each other's texts, they must all have the same rows: `drop_last=True`. Where
they do not, start each batch without a state: `None`.

## How it is recognised
A recurrent layer was given a state that differs from the expected one in the number of rows only:
those of a complete batch against those that were left for the last one. A second run shows that the
state came out of a recurrent layer.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case
from surefit.laws.contracts.unequal_sides import UnequalSides
from surefit.laws.layers.layer_words import layer_name
from surefit.laws.rows.batches import last_batch
from surefit.lineage.producers import Producer
from surefit.lineage.ways import CREATES, RECURRENT, history, operation, users
from surefit.remedies.arguments import SetArgument
from surefit.remedies.drop_last import drop_last
from surefit.remedies.replace import ReplaceWith

SYMPTOM = Symptom(
    r"Expected hidden(\[\d\])? size \(.*\), got \[.*\]",
    "whether the state came out of an earlier batch, and how many rows the last one has",
)
RULE = Rule("SF236", "state-of-another-batch", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(UnequalSides)
def state_came_from_a_complete_batch(broken: UnequalSides, case: Case) -> Finding | None:
    last = last_batch(case, broken.expected) if broken.layer is not None else None
    if broken.layer is None or last is None or last.size != broken.size:
        return None
    origin = carried(history(case.lineage(broken.side), broken.size))
    if origin is None:
        return None
    drop = drop_last(case, last, in_order=True)
    starts = list(without_state(broken, case))
    at = drop.at if isinstance(drop, SetArgument) else starts[0].at if starts else None
    return case.finding(
        (at or broken.use).place,
        f"{layer_name(broken.layer)} continues with a state of {broken.size} rows, and the last"
        f" batch has {broken.expected} ({last.arithmetic}).",
        facts=(
            Fact("the state", shape_of(broken.side.shape)),
            Fact("expected", shape_of(broken.other.shape)),
            *fact_at("from a batch before", origin),
        ),
        why="Each row of a state belongs to a row of the batch that it came from.",
        remedies=(drop if isinstance(drop, SetArgument) else None, *starts, drop),
    )


def carried(path: list[Producer]) -> Producer | None:
    """The user's expression that a recurrent layer gave the state to; None where the state was
    created for this batch."""
    for producer in path:
        if operation(producer) in RECURRENT:
            return users(path, producer)
        if operation(producer) in CREATES:
            return None
    return None


def without_state(broken: UnequalSides, case: Case) -> Iterator[ReplaceWith]:
    """`None` for the state, where the loop over batches hands it to the model, then where the model
    hands it to the layer."""
    for argument in states_given(broken, case):
        yield ReplaceWith(
            at=argument,
            text="None",
            words=f"If the rows of a batch do not continue those of the batch before, start each"
            f" batch without a state: `None` instead of {code(argument.text)}.",
            choice=True,
        )


def states_given(broken: UnequalSides, case: Case) -> Iterator[Expression]:
    identity = broken.side.value.identity
    for frame in case.frames:
        call, source = case.node(frame), case.source(frame)
        if not frame.own or source is None or not isinstance(call, ast.Call):
            continue
        states = {
            value.text
            for value in frame.values
            for known in (value, *value.members.values())
            if known.identity == identity and identity
        }
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            texts = {ast.unparse(node) for node in ast.walk(argument) if isinstance(node, ast.expr)}
            if states & texts:
                yield case.expression(source, argument)
