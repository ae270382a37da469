"""A number of rows is written down, and this batch has another.

## What happens
`x.view(BATCH, -1)`, `torch.zeros(layers, BATCH, hidden)`, `torch.ones(BATCH, 1)` or `for i in
range(BATCH)` hold for whole batches. The last batch of an epoch has the rows that are left over, a
batch of another loader may have any number.

## Why it matters
It comes at the end of the first epoch, or in the evaluation after it. `drop_last=True` hides it,
and rows are lost; where the numbers happen to divide, a reshape mixes rows without a word.

## What to do
Ask the batch: `x.size(0)`, `len(labels)`. A reshape that leaves the batch axis alone,
`x.flatten(1)`, needs no number at all.

## How it is recognised
The loader that was at work, or the loop that cuts the rows, says how many rows this batch has. A
failing reshape fits if one number of it is replaced by these rows; a failing loop counts past
them; of two tensors that do not fit, a second run tells which was made with a number of its own.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, shape_of, times
from surefit.evidence.batch_rows import (
    Batches,
    batches_of,
    constant,
    evaluated,
    fits,
    is_written_down,
    leaves,
    node_at,
    with_rows,
)
from surefit.evidence.hand_made_batches import loops_around
from surefit.evidence.layer_names import name
from surefit.evidence.made_for_rows import (
    MAKES,
    MadeForRows,
    alike,
    frame_of,
    made_for_other_rows,
    made_in_line,
)
from surefit.evidence.misfits import misfit_of
from surefit.evidence.value_stories import story_of_value, taken
from surefit.source.edits import appended, replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source

RULE = Rule(
    "SF235",
    "hard-coded-batch-size",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"shape '\[.*\]' is invalid for input of size \d+",
            "whether one number of the shape is a batch size, and how many rows this batch has",
        ),
        Symptom(
            r"Expected hidden(\[\d\])? size \(.*\), got \[.*\]",
            "whether the state was made for a fixed number of rows, and how many this batch has",
        ),
        Symptom(
            r"index \d+ is out of bounds for dimension 0 with size \d+",
            "whether a loop counts to a batch size, and how many rows this batch has",
        ),
    ),
)

RESHAPES = ("view", "reshape")


@dataclass(frozen=True, slots=True)
class Fixed:
    """A number in the source that stands for the rows of a batch."""

    source: Source
    node: ast.expr
    number: int
    rows: int
    place: Place
    line: str


@RULE.on(Crash)
def reshape_counts_rows(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.frames[-1] if crash.frames else None
    source = seen.source(frame.place) if frame and frame.own and is_cause(crash, seen) else None
    node = node_at(source, frame) if source and frame else None
    if source is None or frame is None or not isinstance(node, ast.Call):
        return
    parts = reshaped(node)
    batches = batches_of(crash, seen) if parts else None
    if parts is None or batches is None:
        return
    receiver = next((one for one in frame.values if one.text == ast.unparse(parts[0])), None)
    count = prod(receiver.shape) if receiver and receiver.shape else elements_said(crash)
    fixed = fixed_in_reshape(source, frame, parts[1], count, batches)
    if fixed is None:
        return
    value = with_rows(frame, fixed.rows)
    edit = everywhere(source, fixed.node, value) if value else None
    yield finding(
        crash,
        fixed,
        batches,
        (Fact(code(ast.unparse(parts[0])), numbers_of(receiver, count)),),
        fix(fixed, value, edit, reshape_condition(frame, source, fixed, receiver)),
    )


def elements_said(crash: Crash) -> int:
    """Asked only where what is reshaped cannot be read from the frame."""
    said = re.search(r"input of size (\d+)", crash.said)
    return int(said[1]) if said else 0


def numbers_of(receiver: Value | None, count: int) -> str:
    return shape_of(receiver.shape) if receiver and receiver.shape else f"{count} numbers"


def reshaped(node: ast.Call) -> tuple[ast.expr, list[ast.expr]] | None:
    """What a call of `view` or `reshape` is about, and the sizes that it asks for."""
    match node:
        case ast.Call(func=ast.Attribute(value=given, attr=name), args=args) if name in RESHAPES:
            if name == "reshape" and isinstance(given, ast.Name) and given.id == "torch" and args:
                given, *args = args
            inside = args[0] if len(args) == 1 else None
            return given, inside.elts if isinstance(inside, ast.Tuple | ast.List) else args
    return None


def fixed_in_reshape(
    source: Source, frame: Frame, sizes: list[ast.expr], count: int, batches: Batches
) -> Fixed | None:
    """The one number that, replaced by the rows of this batch, makes the shape fit."""
    asked = [evaluated(size, frame) for size in sizes]
    if not count or any(size is None for size in asked):
        return None
    if fits([size for size in asked if size is not None], count):
        return None
    for rows in rows_in(frame, batches):
        for leaf in (leaf for size in sizes for leaf in leaves(size)):
            number = evaluated(leaf, frame)
            if number is None or number in (rows, -1):
                continue
            new = [evaluated(size, frame, {leaf: rows}) or 0 for size in sizes]
            sure = -1 not in new or number == batches.size
            if sure and fits(new, count):
                place = Place(source.file, leaf.lineno)
                return Fixed(source, leaf, number, rows, place, source.segment(leaf))
    return None


def rows_in(frame: Frame, batches: Batches) -> list[int]:
    """Sizes of the frame's tensors that can be the rows of this batch, first axes first."""
    shapes = [one.shape for one in frame.values if one.shape]
    sizes = [shape[0] for shape in shapes] + [size for shape in shapes for size in shape[1:2]]
    return [size for size in dict.fromkeys(sizes) if batches.can_have(size)]


def reshape_condition(
    frame: Frame, source: Source, fixed: Fixed, receiver: Value | None
) -> Condition | None:
    """Behind the line there are as many rows as before it."""
    statement = source.statement_of(fixed.node)
    if isinstance(statement, ast.Assign) and statement.value is node_at(source, frame):
        parts = reshaped(statement.value) if isinstance(statement.value, ast.Call) else None
        sizes = parts[1] if parts else []
        shape = tuple(evaluated(one, frame, {fixed.node: fixed.rows}) for one in sizes)
        known = tuple(None if size == -1 else size for size in shape)
        target = ast.unparse(statement.targets[0])
        return ValuesAt(frame.place, (Wanted(target, known),), after=True)
    rows = [one for one in frame.values if one.shape and one.shape[0] == fixed.rows]
    watched = receiver or (rows[0] if rows else None)
    return ValuesAt(frame.place, (Wanted(watched.text, watched.shape),)) if watched else None


@RULE.on(Crash)
def reshape_mixed_rows(crash: Crash, seen: Recording) -> Iterator[Finding]:
    """The numbers happened to divide, and a layer behind the reshape noticed."""
    misfit = misfit_of(crash) if is_cause(crash, seen) else None
    batches = batches_of(crash, seen) if misfit and crash.own_frame else None
    if misfit is None or batches is None or crash.own_frame is None:
        return
    if misfit.shape[0] != batches.size or batches.can_have(batches.size):
        return
    story = story_of_value(seen, crash, misfit.frame, misfit.given.text)
    before = taken(story[0], story)[:1] if story and story[0].name in RESHAPES else []
    given, asked = before[0].shape if before else (), story[0].shape if story else ()
    source = seen.source(story[0].place) if story else None
    if source is None or not given or not batches.can_have(given[0]) or asked[0] == given[0]:
        return
    if asked[0] != batches.size or prod(given[1:]) != misfit.width:
        return
    frame = frame_of(crash, source, line_number(story[0].place))
    calls = [one for one in source.calls_in(line_number(story[0].place)) if reshaped(one)]
    sizes = parts[1] if len(calls) == 1 and (parts := reshaped(calls[0])) else []
    if frame is None or not sizes or not is_written_down(source, sizes[0]):
        return
    place = Place(source.file, calls[0].lineno)
    fixed = Fixed(source, sizes[0], asked[0], given[0], place, source.segment(sizes[0]))
    value = with_rows(frame, given[0]) if sizes else None
    known = next((one for one in frame.values if one.shape and one.shape[0] == given[0]), None)
    must = ValuesAt(frame.place, (Wanted(known.text, known.shape),)) if known else None
    yield finding(
        crash,
        fixed,
        batches,
        (
            Fact("reshaped", f"{place}  {shape_of(given)} became {shape_of(asked)}"),
            Fact(name(misfit.layer), f"takes rows of {misfit.width} = {times(given[1:])} numbers"),
        ),
        fix(fixed, value, everywhere(source, sizes[0], value) if value else None, must),
    )


def line_number(place: Place | None) -> int:
    return place.line if place and place.line else 0


@RULE.on(Crash)
def loop_counts_rows(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.frames[-1] if crash.frames else None
    source = seen.source(frame.place) if frame and frame.own and is_cause(crash, seen) else None
    node = node_at(source, frame) if source and frame else None
    if source is None or frame is None or not isinstance(node, ast.Subscript):
        return
    text = ast.unparse(node.value)
    shape = next((one.shape for one in frame.values if one.text == text), None)
    index = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
    at = evaluated(index, frame)
    if not shape or at != shape[0] or not isinstance(index, ast.Name):
        return
    for loop in loops_around(source, frame):
        match loop:
            case ast.For(
                target=ast.Name(id=counter), iter=ast.Call(func=ast.Name(id="range"), args=[stop])
            ) if counter == index.id:
                number = evaluated(stop, frame) or constant(source, stop)
                batches = batches_of(crash, seen)
                if number is None or batches is None or not batches.can_have(shape[0]):
                    return
                place = Place(source.file, loop.lineno)
                fixed = Fixed(source, stop, number, shape[0], place, source.segment(loop.iter))
                value = f"len({text})"
                yield finding(
                    crash,
                    fixed,
                    batches,
                    (Fact(code(text), shape_of(shape)), Fact(code(counter), str(at))),
                    fix(
                        fixed,
                        value,
                        replaced(source, stop, value),
                        after_the_loop(frame, text, shape),
                    ),
                )
                return


def after_the_loop(frame: Frame, text: str, shape: tuple[int, ...]) -> Condition:
    return ValuesAt(frame.place, (Wanted(text, shape),))


@RULE.on(Crash)
def tensor_is_made_for_other_rows_in_the_line(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.frames[-1] if crash.frames else None
    source = seen.source(frame.place) if frame and frame.own and is_cause(crash, seen) else None
    if source is None or frame is None or not makes_a_tensor(frame):
        return
    batches = batches_of(crash, seen)
    found = made_in_line(source, frame, batches) if batches else None
    if batches is None or found is None:
        return
    node, rows = found
    outer = next(one for one in source.up(node) if isinstance(one, ast.Call))
    place = Place(source.file, node.lineno)
    fixed = Fixed(source, node, batches.size, rows, place, source.segment(outer))
    value = with_rows(frame, rows)
    tensors = [one for one in frame.values if one.shape and one.shape[0] == rows]
    yield finding(
        crash,
        fixed,
        batches,
        tuple(Fact(code(one.text), shape_of(one.shape or ())) for one in tensors[:2]),
        fix(
            fixed,
            value,
            everywhere(source, node, value) if value else None,
            ValuesAt(frame.place, (Wanted(tensors[0].text, tensors[0].shape),)),
        ),
    )


def makes_a_tensor(frame: Frame) -> bool:
    return any(f"{name}(" in (frame.expression or "") for name in MAKES)


@RULE.on(Crash)
def tensor_was_made_for_other_rows(crash: Crash, seen: Recording) -> Iterator[Finding]:
    made = made_for_other_rows(crash, seen) if is_cause(crash, seen) else None
    if made is None:
        return
    fixed = Fixed(made.source, made.leaf, made.number, made.rows, made.place, call_around(made))
    yield finding(
        crash,
        fixed,
        made.batches,
        (
            Fact(code(made.text), f"{shape_of(made.shape)}, made at {made.place}"),
            Fact(code(made.other), shape_of(made.other_shape)),
        ),
        fix(fixed, made.value, *mended(made)),
    )


def call_around(made: MadeForRows) -> str:
    """The call in which the number is written."""
    outer = (one for one in made.source.up(made.leaf) if isinstance(one, ast.Call))
    return made.source.segment(next(outer, made.call))


def mended(made: MadeForRows) -> tuple[Edit | None, Condition | None]:
    """Made with the rows of this batch; where they are not known yet, cut to them where used."""
    if made.value is None:
        return None, None
    watched = ValuesAt(made.frame.place, (Wanted(made.other, made.other_shape),))
    if not made.cut or made.used is None:
        return everywhere(made.source, made.leaf, made.value), watched
    cut = made.cut.format(made.value)
    edits = [appended(made.source, node, cut) for node in (made.used, *beside(made, made.used))]
    return Edit(made.source.file, tuple(one for edit in edits for one in edit.changes)), watched


def beside(made: MadeForRows, used: ast.expr) -> list[ast.expr]:
    """Tensors of the same shape in the same tuple: a recurrent layer takes two states."""
    outer = made.source.parents.get(used)
    alike = {one.text for one in made.frame.values if one.shape == made.shape}
    others = outer.elts if isinstance(outer, ast.Tuple) else []
    return [one for one in others if one is not used and ast.unparse(one) in alike]


def everywhere(source: Source, leaf: ast.expr, value: str) -> Edit:
    edits = [replaced(source, node, value) for node in alike(source, leaf)]
    return Edit(source.file, tuple(change for edit in edits for change in edit.changes))


def fix(fixed: Fixed, value: str | None, edit: Edit | None, must: Condition | None) -> Fix:
    rows = counted(fixed.rows, "row")
    if value is None or edit is None or must is None:
        return Fix(
            f"Make it for the rows that a batch has (`x.size(0)`), here {fixed.rows}.",
            why_not_tried="where this number is written, the batch is not at hand",
        )
    return Fix(f"Ask the batch: {code(value)}. All {rows} of it are used.", edit, must)


def finding(
    crash: Crash, fixed: Fixed, batches: Batches, facts: tuple[Fact, ...], mend: Fix
) -> Finding:
    return RULE.finding(
        fixed.place,
        f"{code(fixed.line)} is written for batches of {fixed.number} rows, and"
        f" {'this' if fixed.rows == batches.size else 'the last'} batch has {fixed.rows}.",
        facts=(*facts, Fact("rows", batches.said_of(fixed.rows))),
        why="The number is written down and not asked of the batch.",
        fixes=(mend,),
        python_said=crash.said,
        about=crash.id,
    )
