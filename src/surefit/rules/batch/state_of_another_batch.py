"""The state of a recurrent layer was carried over from a batch with another number of rows.

## What happens
A state has one column for each row of the batch that it came from. Handed on to the next batch it
fits as long as that has as many rows; the last batch of an epoch has what is left over.

## Why it matters
It comes at the end of the first epoch. Cut to size, the state of one text goes on in another; and
with a loader that shuffles it does so in every batch.

## What to do
Where batches go on in each other's texts, they must all have the same rows: `drop_last=True`. Where
they do not, begin each batch with no state at all: `state = None`.

## How it is recognised
A recurrent layer was given a state that differs from what it expects in the number of rows only:
those of a whole batch against those that were left for the last one. A second run tells that the
state came out of a recurrent layer.
"""

from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Operation
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import shape_of
from surefit.evidence.dropped_batches import drop, dropped
from surefit.evidence.layer_names import name
from surefit.evidence.loaders import short_batch
from surefit.evidence.recurrent_states import State, came_from_a_layer, state_of

RULE = Rule(
    "SF236",
    "state-of-another-batch",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Expected hidden(\[\d\])? size \(.*\), got \[.*\]",
            "whether the state came out of an earlier batch, and how many rows the last one has",
        ),
    ),
)


@RULE.on(Crash)
def state_came_from_a_whole_batch(crash: Crash, seen: Recording) -> Iterator[Finding]:
    state = state_of(crash) if is_cause(crash, seen) else None
    short = short_batch(crash, seen, state.wanted_rows) if state else None
    if state is None or short is None or state.rows != short.loader.size:
        return
    origin = came_from_a_layer(crash, state, seen)
    if origin is None or short.loader.place is None:
        return
    dropping = dropped(seen, short.loader.place)
    yield RULE.finding(
        dropping.place,
        f"{name(state.layer)} goes on with a state of {state.rows} rows, and the last batch has"
        f" {short.rows} ({short.arithmetic}).",
        facts=tuple(facts(state, origin)),
        why="Each row of a state belongs to a row of the batch that it came from.",
        fixes=(
            drop(crash, short, dropping, in_order=True),
            Fix(
                "Or begin each batch without a state, if its rows do not go on where those of the"
                " batch before ended.",
                why_not_tried="only you know whether the rows of a batch go on in the next",
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def facts(state: State, origin: Operation) -> Iterator[Fact]:
    yield Fact("the state", shape_of(state.given.shape or ()))
    yield Fact("expected", shape_of(state.wanted))
    yield Fact("it came from", f"{origin.place}, an earlier batch")
