"""A loader gives no batch at all, and what the loop over it was to leave is missing.

## What happens
With `drop_last=True` a loader leaves out a batch that is not whole. Of a set with fewer rows than a
batch nothing is left: the loop does not run once. Behind it the mean divides by zero, `torch.cat`
gets an empty list, or a name has no value yet.

## Why it matters
The message is about a division or a list; it is the loader that is wrong. And where there is one
batch, the rows that are left out count in no score.

## What to do
Evaluate with `drop_last=False`, the default: no score needs whole batches. Where a training set is
smaller than a batch, make the batch smaller. A split that rounds down to nothing needs a lower
bound: `max(1, int(0.01 * len(data)))`.

## How it is recognised
The loader that was asked last came to its end without a batch, and the failing line reads a name
that only the loop over it fills, or divides by its length. The text of the exception is not looked
at.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.first_batches import FirstBatchComes
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted
from surefit.evidence.arrivals import first_simple, names_in
from surefit.evidence.dictionary_keys import keys_of
from surefit.evidence.emptied import emptied_by
from surefit.evidence.empty_loops import EmptyLoop, empty_loop
from surefit.evidence.loaders import loader_call, makes_several
from surefit.source.edits import argument_added, argument_removed
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source

RULE = Rule(
    "SF509",
    "loader-without-batches",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"ZeroDivisionError|expected a non-empty list of Tensors|need at least one array"
            r"|UnboundLocalError|NameError: name|StatisticsError|list index out of range",
            "whether the loop above the failing line ran at all: how many rows its loader has, its"
            " batch size, and whether it drops the last batch",
        ),
    ),
)


@RULE.on(Crash)
def a_loop_never_ran(crash: Crash, seen: Recording) -> Iterator[Finding]:
    empty = empty_loop(crash, seen) if is_cause(crash, seen) else None
    if empty is None or empty.loader.streams:
        return
    if not empty.loader.drops and empty.loader.rows != 0:
        return
    source = seen.source(empty.loader.place)
    place = empty.loader.place
    call = loader_call(source, place) if source and place else None
    if source is None or call is None or place is None:
        return
    drops = empty.loader.drops and empty.loader.rows != 0
    yield RULE.finding(
        Place(source.file, call.lineno) if drops else emptied_at(crash, source, call),
        headline(empty, source, call, drops),
        facts=tuple(facts(empty)),
        why="A loader says nothing when it has no batch to give; the loop over it ends at once."
        if not drops
        else "`drop_last=True` leaves out the last batch where it is not whole, and here it is the"
        " first one, too.",
        fixes=(fix(empty, source, call) if drops else no_rows(source, call),),
        python_said=crash.said,
        about=crash.id,
    )


def headline(empty: EmptyLoop, source: Source, call: ast.Call, drops: bool) -> str:
    what = code(ast.unparse(empty.loop.iter))
    if not drops:
        given = source.argument(call, "dataset", 0)
        without = code(source.segment(given)) if given else "its set"
        return f"The loop over {what} never ran, because {without} has no rows; {needs(empty)}."
    rows = empty.loader.rows
    has = f"has {counted(rows, 'row')}" if rows is not None else "has fewer rows than a batch"
    return (
        f"The loader {has}, a batch takes {empty.loader.size}, and `drop_last=True` leaves out what"
        f" is not whole: the loop over {what} never ran."
    )


def needs(empty: EmptyLoop) -> str:
    return f"{code(empty.name)} is needed at {empty.frame.place}"


def facts(empty: EmptyLoop) -> Iterator[Fact]:
    rows = empty.loader.rows
    yield Fact("rows", str(rows) if rows is not None else f"fewer than {empty.loader.size}")
    yield Fact("batch size", str(empty.loader.size))
    yield Fact("batches", "0")
    loop = f"{empty.source.file}:{empty.loop.lineno}"
    yield Fact("the loop", f"{loop}  for … in {ast.unparse(empty.loop.iter)}")
    yield Fact("fails at", f"{empty.frame.place}, which needs {code(empty.name)}")


def emptied_at(crash: Crash, source: Source, call: ast.Call) -> Place:
    """What left no rows; otherwise where the set is made, or the loader."""
    given = source.argument(call, "dataset", 0)
    kept = emptied_by(source, crash, given) if given is not None else None
    if kept is not None:
        return Place(source.file, kept.node.lineno)
    bound = source.bound_by(given) if isinstance(given, ast.Name) else []
    if len(bound) != 1 or not isinstance(bound[0], ast.Assign):
        return Place(source.file, call.lineno)
    made = zero_in(crash, source, bound[0].value) or bound[0]
    return Place(source.file, made.lineno)


def zero_in(crash: Crash, source: Source, node: ast.expr) -> ast.Assign | None:
    """The one statement that makes a number of rows 0 which a split is given."""
    frames = [frame for frame in crash.frames if frame.own]
    zeros = {one.text for frame in frames for one in frame.values if is_zero(one)}
    for name in ast.walk(node):
        bound = source.bound_by(name) if isinstance(name, ast.Name) and name.id in zeros else []
        if len(bound) == 1 and isinstance(bound[0], ast.Assign):
            return bound[0]
    return None


def is_zero(value: Value) -> bool:
    return type(value.scalar) is int and value.scalar == 0


def no_rows(source: Source, call: ast.Call) -> Fix:
    given = source.argument(call, "dataset", 0)
    what = code(source.segment(given)) if given is not None else "the set"
    return Fix(
        f"Give {what} rows: a share of few rows rounds down to none, and `max(1, ...)` keeps one.",
        why_not_tried="which rows are meant only you know",
    )


def fix(empty: EmptyLoop, source: Source, call: ast.Call) -> Fix:
    edit = undropped(source, call)
    rows = empty.loader.rows
    text = "Keep the batch that is not whole: `drop_last=False`, the default. All rows then count."
    arrives = arrival(empty)
    if trains(empty):
        text += " Or make the batch smaller, so that a step has as many rows as you mean."
    if edit is None:
        return Fix(text, why_not_tried="where `drop_last` is set was not found")
    if arrives is None:
        return Fix(text, edit, why_not_tried="no line was found at which its rows can be counted")
    first, names = arrives
    at = Place(empty.source.file, first.lineno)
    must = FirstBatchComes(at, names, empty.loader.size, rows)
    return Fix(text, edit, must)


def arrival(empty: EmptyLoop) -> tuple[ast.stmt, tuple[str, ...]] | None:
    """The first statement of the loop, and what a batch is called there."""
    first = first_simple(empty.loop.body)
    names = tuple(names_in(empty.loop.target))
    return (first, names) if first is not None and names else None


def undropped(source: Source, call: ast.Call) -> Edit | None:
    """Without the argument; where one call makes several loaders, for those that do not shuffle."""
    shuffles = source.argument(call, "shuffle", 2)
    differs = shuffles is not None and not isinstance(shuffles, ast.Constant)
    value = source.segment(shuffles) if shuffles is not None and differs else "False"
    value = value if makes_several(source, call) else "False"
    if source.argument(call, "drop_last") is None:
        return overruled(source, call, value)
    if value == "False":
        return argument_removed(source, call, "drop_last")
    return argument_added(source, call, "drop_last", value)


def overruled(source: Source, call: ast.Call, value: str) -> Edit | None:
    """Where a dictionary says it, which other loaders are given, too."""
    for one in call.keywords:
        if one.arg is None and "drop_last" in dict(keys_of(source, one.value)):
            text = f'**{{**{source.segment(one.value)}, "drop_last": {value}}}'
            return Edit(source.file, (Replace(source.span(one), text),))
    return None


def trains(empty: EmptyLoop) -> bool:
    inside = (node for one in empty.loop.body for node in ast.walk(one))
    return any(isinstance(node, ast.Attribute) and node.attr == "backward" for node in inside)
