"""A dataset gave None for some of its rows, and the collator cannot put None into a batch.

## What happens
`__getitem__` ends with `return None`, or with nothing at all, for rows that it cannot use: a broken
image, a clip without a face. A loader does not leave such rows out: it hands them to the collator,
which takes every sample apart and fails with `object of type 'NoneType' has no len()` or
`found <class 'NoneType'>`.

## Why it matters
It depends on the order of rows. A batch without such a row goes through, so that it can wait for
many steps, and with workers the traceback is that of another process. Fewer workers or another
batch size only move it.

## What to do
Leave the rows out where you can see how many they are, in the `__init__` of the dataset; or, if
that costs too much, in a `collate_fn` that drops samples which are None.

## How it is recognised
Among the rows that the failing collator was given are some that are None themselves, and the line
that failed was at work on them. The `return` is read from the source of the dataset's
`__getitem__`. The text of the exception is not looked at.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.rows import RowsArrive
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import CollatorSeen, Crash, Frame, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, listed
from surefit.evidence.arrivals import arrival, loader_call
from surefit.evidence.dropping import dropping_collator, with_function
from surefit.evidence.none_returns import ways_to_none
from surefit.evidence.origins import names_in
from surefit.source.classes import Method, function_called, method
from surefit.source.edits import (
    both,
    inserted_after,
    inserted_before,
    with_import,
    wrapped,
)
from surefit.source.patches import Edit
from surefit.source.reading import Source

RULE = Rule(
    "SF213",
    "sample-is-none",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"TypeError: .*NoneType",
            "whether the dataset gave None in place of a whole sample",
            r"collate|fetch",
        ),
    ),
)

PICKS = "rows_that_exist"
FEW = 4
"""Rows of a batch of which all can be None at once, if some are."""


@RULE.on(Crash)
def a_row_was_none(crash: Crash, seen: Recording) -> Iterator[Finding]:
    collator = crash.collator
    if collator is None or not collator.nones or not is_cause(crash, seen):
        return
    if collator.own and not is_about_none(crash):
        return
    made = maker(collator, seen) or maker_of_list(crash, collator, seen)
    source, function, ways = made if made else (None, None, [])
    place = place_of(crash, seen, made)
    if place is None:
        return
    yield RULE.finding(
        place,
        headline(collator, function, ways),
        facts=tuple(facts(collator, source, function, ways)),
        why="A loader hands every row that it asked for to the collator, and None is no row: it"
        " has no length, no keys and no shape.",
        fixes=tuple(fixes(crash, collator, seen, made)),
        python_said=crash.said,
        about=crash.id,
    )


def is_about_none(crash: Crash) -> bool:
    """A collator of the user's can fail for other reasons: the failing part must hold a None."""
    inside = [frame for frame in crash.frames if frame.own][-2:]
    return any(holds_none(frame) for frame in (*inside, crash.frames[-1]))


def holds_none(frame: Frame) -> bool:
    names = names_in(frame.expression or frame.line)
    parts = [value for value in frame.values if value.text in names]
    return any(value.kind == "NoneType" or value.nones for value in parts)


Made = tuple[Source, Method, list[ast.stmt]]


def maker(collator: CollatorSeen, seen: Recording) -> Made | None:
    """The function that gives the rows, and the statements in which it gives None."""
    dataset = collator.dataset
    names = {dataset.kind, dataset.of} if dataset else set()
    for script in seen.all(Script):
        source = seen.source(script.file)
        for owner in source.every(ast.ClassDef) if source else ():
            gives = method(source, owner, "__getitem__") if source else None
            if source and owner.name in names and gives:
                return source, gives, ways_to_none(source, gives)
    return None


def maker_of_list(crash: Crash, collator: CollatorSeen, seen: Recording) -> Made | None:
    """The function that a list of rows is made by: `[encode(row) for row in rows]`."""
    listed_rows = rows_given(crash, seen) if collator.dataset and is_list(collator) else None
    source, node = listed_rows if listed_rows else (None, None)
    if source is None or not isinstance(node, ast.ListComp) or not isinstance(node.elt, ast.Call):
        return None
    gives = function_called(source, node.elt)
    ways = ways_to_none(source, gives) if gives else []
    return (source, gives, ways) if gives and ways else None


def is_list(collator: CollatorSeen) -> bool:
    return collator.dataset is not None and collator.dataset.kind in ("list", "tuple")


def rows_given(crash: Crash, seen: Recording) -> tuple[Source, ast.expr] | None:
    """What the loader was made with, followed to where it got its value."""
    found = loader_call(crash, seen)
    given = found[0].argument(found[1], "dataset", 0) if found else None
    return (found[0], found[0].value_of(given)) if found and given else None


def place_of(crash: Crash, seen: Recording, made: Made | None) -> Place | None:
    """Where None is given back; otherwise where the rows were made or the loader was."""
    if made:
        source, function, ways = made
        return Place(source.file, ways[0].lineno if ways else function.lineno)
    given = rows_given(crash, seen)
    if given:
        return Place(given[0].file, given[1].lineno, given[1].end_lineno)
    frames = [frame for frame in crash.frames if frame.own]
    return frames[0].place if frames and crash.collator and not crash.collator.own else None


def headline(collator: CollatorSeen, function: Method | None, ways: list[ast.stmt]) -> str:
    rows = f"{collator.nones:,} of the {counted(collator.rows, 'row')} of this batch"
    if collator.nones == collator.rows:
        rows = f"all {counted(collator.rows, 'row')} of this batch"
    name = dataset_name(collator)
    if function is None:
        are = "is" if collator.nones == 1 else "are"
        return f"{name} holds None in place of a sample: {rows} {are} None."
    how = "returns None" if any(map(is_return, ways)) or not ways else "ends without a `return`"
    gives = f"`{function.name}`" if is_list(collator) else f"`__getitem__` of {name}"
    return f"{gives} {how} for {rows}, and `{collator.kind}` needs samples."


def is_return(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Return)


def dataset_name(collator: CollatorSeen) -> str:
    dataset = collator.dataset
    if dataset is None:
        return "The dataset"
    return f"`{dataset.of or dataset.kind}`"


def facts(
    collator: CollatorSeen, source: Source | None, function: Method | None, ways: list[ast.stmt]
) -> Iterator[Fact]:
    if collator.numbers:
        of = collator.dataset.kind if collator.dataset else "dataset"
        yield Fact("rows that are None", f"{listed(collator.numbers)} of the `{of}`, from 0")
    for way in ways:
        if source is None:
            continue
        if is_return(way):
            yield Fact("gives None", f"{source.file}:{way.lineno}{condition_of(source, way)}")
        else:
            yield Fact("ends without `return`", f"behind {source.file}:{way.end_lineno}")
    if function and not ways:
        yield Fact("gives None", "no `return None` stands in it: something that it calls does")


def condition_of(source: Source, way: ast.stmt) -> str:
    outer = source.parents.get(way)
    if isinstance(outer, ast.If) and way in outer.body:
        return f", if {code(source.segment(outer.test))}"
    if isinstance(outer, ast.ExceptHandler):
        return f", after {code(source.segment(outer.type)) if outer.type else 'any exception'}"
    return ""


def fixes(
    crash: Crash, collator: CollatorSeen, seen: Recording, made: Made | None
) -> Iterator[Fix]:
    forgotten = forgotten_return(crash, collator, seen, made)
    if forgotten:
        yield forgotten
        return
    ways = [dropped(crash, collator, seen), picked(crash, collator, seen)]
    if collator.rows <= FEW or 2 * collator.nones > collator.rows:
        ways.reverse()
    found = [fix for fix in ways if fix]
    yield from found
    if not found:
        yield Fix(
            "Leave such rows out: in the `__init__` of the dataset, or in a `collate_fn` that"
            " drops samples which are None.",
            why_not_tried="the call that made the loader was not found in your source",
        )


def expectation(
    crash: Crash, seen: Recording, rows: int, past: bool, epoch: tuple[int, int] | None = None
) -> RowsArrive:
    came = arrival(crash, seen)
    at = 0 if past else None
    if came is None:
        return RowsArrive(rows, None, changes_the_past=past, at=at, epoch=epoch)
    place, names, after = came.place, came.names, came.after
    return RowsArrive(rows, place, names, after, changes_the_past=past, at=at, epoch=epoch)


def first_epoch(crash: Crash, collator: CollatorSeen) -> tuple[int, int] | None:
    """Rows and batches of the epoch that failed, if that was the first: each row comes once."""
    rows = collator.dataset.rows if collator.dataset else None
    batches = -(-rows // collator.rows) if rows else 0
    return (rows, batches) if rows and crash.steps < batches else None


def forgotten_return(
    crash: Crash, collator: CollatorSeen, seen: Recording, made: Made | None
) -> Fix | None:
    """Every row is None, and a function ends right behind the value that it made."""
    source, _, ways = made if made else (None, None, [])
    if source is None or collator.nones < collator.rows or len(ways) != 1 or is_return(ways[0]):
        return None
    last = ways[0]
    target = last.targets[0] if isinstance(last, ast.Assign) and len(last.targets) == 1 else None
    if not isinstance(target, ast.Name):
        return Fix("Return the sample.", why_not_tried="only you know what the sample is")
    return Fix(
        f"Return what it made: `return {target.id}` behind line {last.end_lineno}.",
        inserted_after(source, last, f"return {target.id}"),
        expectation(crash, seen, collator.rows, past=False),
    )


def dropped(crash: Crash, collator: CollatorSeen, seen: Recording) -> Fix | None:
    left = collator.rows - collator.nones
    edit = (
        in_own_collator(collator, seen)
        if collator.own
        else dropping_collator(crash, seen, "row is not None")
    )
    if edit is None or left == 0:
        return None
    where = f"in `{collator.kind}`" if collator.own else "in a `collate_fn`"
    return Fix(
        f"Drop samples that are None {where}; this batch loses {collator.nones:,} of its"
        f" {counted(collator.rows, 'row')} and keeps {left:,}.",
        edit,
        expectation(crash, seen, left, past=False, epoch=first_epoch(crash, collator)),
    )


def in_own_collator(collator: CollatorSeen, seen: Recording) -> Edit | None:
    for script in seen.all(Script):
        source = seen.source(script.file)
        for one in source.definitions.get(collator.kind, ()) if source else ():
            function = method(source, one, "__call__") if isinstance(one, ast.ClassDef) else one  # type: ignore[arg-type]
            if source and isinstance(function, Method):
                return rows_filtered(source, function)
    return None


def rows_filtered(source: Source, function: Method) -> Edit | None:
    """Its rows without those that are None, before anything else is done with them."""
    given = [*function.args.posonlyargs, *function.args.args]
    bound = [one.arg for one in given if one.arg not in ("self", "cls")]
    first = next((one for one in function.body if not is_docstring(one)), None)
    if not bound or first is None:
        return None
    rows = bound[0]
    try:
        return inserted_before(
            source, first, f"{rows} = [row for row in {rows} if row is not None]"
        )
    except ValueError:
        return None


def is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def picked(crash: Crash, collator: CollatorSeen, seen: Recording) -> Fix | None:
    """Only where a loader, or a Trainer, picks its rows by itself from a dataset with a length."""
    found = loader_call(crash, seen)
    if found is None or collator.dataset is None or not collator.numbers:
        return None
    source, call = found
    given = source.argument(call, "dataset", 0)
    chosen = [source.argument(call, name) for name in ("sampler", "batch_sampler")]
    if given is None or any(chosen) or PICKS in source.definitions:
        return None
    text = (
        f"def {PICKS}(dataset):\n"
        "    kept = [number for number in range(len(dataset)) if dataset[number] is not None]\n"
        "    return Subset(dataset, kept)"
    )
    edit = with_function(source, call, text)
    if edit is None:
        return None
    edit = both(edit, wrapped(source, given, f"{PICKS}(", ")"))
    return Fix(
        f"Look at every row once before training and keep those that exist; of the rows of"
        f" this batch that is {collator.rows - collator.nones:,} of {collator.rows:,}.",
        with_import(edit, source, "torch.utils.data", "Subset"),
        expectation(crash, seen, collator.rows, past=True),
    )
