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

In a script that is only read: the number of rows and the batch size are known from the source and
leave a last batch that is not whole, `drop_last` is not given, and a loop over the loader hands the
state that a model gave for one batch to it with the next.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause, was_only_read
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Operation, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import shape_of
from surefit.evidence.dropped_batches import drop, dropped
from surefit.evidence.layer_names import name
from surefit.evidence.loaders import short_batch
from surefit.evidence.read_models import layer_of, own_module
from surefit.evidence.read_row_counts import short_batches, training_loops
from surefit.evidence.recurrent_states import State, came_from_a_layer, state_of
from surefit.source.classes import method
from surefit.source.edits import argument_added
from surefit.source.reading import Source, dotted

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


ONLY_READ = "the script was read, not run"


@RULE.on(Script)
def the_last_batch_would_get_a_longer_state(script: Script, seen: Recording) -> Iterator[Finding]:
    source = seen.source(script.file) if was_only_read(seen) else None
    for short in short_batches(source) if source else ():
        assert source is not None
        carried = next(
            (
                found
                for loop in training_loops(source, short.loader)
                if (found := state_carried(source, loop)) is not None
            ),
            None,
        )
        if carried is None:
            continue
        yield RULE.finding(
            Place(source.file, short.loader.lineno),
            f"`{carried[0]}` goes from batch to batch with {short.size} rows, and the last batch"
            f" has {short.left} ({short.sum}).",
            facts=(Fact("carried at", f"{source.file}:{carried[1].lineno}"),),
            why="Each row of a state belongs to a row of the batch that it came from.",
            fixes=(
                Fix(
                    f"`drop_last=True`: each epoch leaves out {short.left} rows.",
                    argument_added(source, short.loader, "drop_last", "True"),
                    why_not_tried=ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )


def state_carried(source: Source, loop: ast.For) -> tuple[str, ast.Assign] | None:
    """`out, state = model(x, state)`, where the state goes into a recurrent layer as it came, and
    nothing else in the loop sets it but `detach`."""
    for one in ast.walk(loop):
        if not isinstance(one, ast.Assign) or not isinstance(one.value, ast.Call):
            continue
        target = one.targets[0]
        names = [dotted(part) for part in target.elts] if isinstance(target, ast.Tuple) else []
        for given in one.value.args:
            name = dotted(given)
            if not name or name not in names or not only_detached(loop, name, one):
                continue
            if goes_into_a_layer(source, one.value, given):
                return name, one
    return None


def goes_into_a_layer(source: Source, call: ast.Call, given: ast.expr) -> bool:
    at = call.args.index(given)
    if layer_of(source, call.func) in RECURRENT:
        return at == 1
    owner = own_module(source, call.func)
    forward = method(source, owner, "forward") if owner else None
    if forward is None or at + 1 >= len(forward.args.args):
        return False
    argument = forward.args.args[at + 1].arg
    rebound = any(
        isinstance(one, ast.If)
        or (isinstance(one, ast.Call) and dotted(one.func).startswith(f"{argument}."))
        for one in ast.walk(forward)
    )
    return not rebound and any(
        isinstance(one, ast.Call)
        and layer_of(source, one.func) in RECURRENT
        and len(one.args) == 2
        and dotted(one.args[1]) == argument
        for one in ast.walk(forward)
    )


def only_detached(loop: ast.For, name: str, carried: ast.Assign) -> bool:
    for one in ast.walk(loop):
        if not isinstance(one, ast.Assign) or one is carried:
            continue
        sets = [part for target in one.targets for part in ast.walk(target)]
        if any(dotted(part) == name for part in sets) and "detach" not in ast.unparse(one.value):
            return False
    return True


RECURRENT = ("LSTM", "GRU", "RNN")
