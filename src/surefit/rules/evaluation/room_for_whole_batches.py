"""Results are written into an array that was made for whole batches, and the last one is smaller.

## What happens
`results = np.zeros((len(loader) * batch_size, classes))` has room for whole batches only. The last
batch has the rows that are left over: the part of the array that is meant for it is longer, and
what has another shape cannot be written there. Made with `n // batch_size` it is too short instead.

## Why it matters
Where it does not raise, rows of zeros at the end are counted as predictions.

## What to do
Make the array as long as the set, `len(loader.dataset)`: a part that reaches beyond its end ends
there. Or gather results in a list and join them with `np.concatenate` or `torch.cat`.

## How it is recognised
The failing line writes into a part of an array or a tensor, what it writes has fewer rows than that
part, or more, and the loader that was at work gave a last batch of just so many rows.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, shape_of
from surefit.evidence.known_numbers import number_of
from surefit.evidence.loaders import ShortBatch, short_batch
from surefit.source.edits import replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule(
    "SF510",
    "room-for-whole-batches",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"could not broadcast input array from shape"
            r"|The expanded size of the tensor \(\d+\) must match the existing size",
            "how many rows the array, the part that is written to and the last batch have",
        ),
    ),
)

MAKES = ("zeros", "empty", "ones", "full", "zeros_like", "empty_like")
KEEPS_ROWS = (
    *(
        "cpu",
        "numpy",
        "detach",
        "float",
        "long",
        "argmax",
        "softmax",
        "sigmoid",
        "tolist",
        "squeeze",
    ),
    *("to", "log_softmax", "half", "double", "int", "bool", "clone", "contiguous"),
)


@dataclass(frozen=True, slots=True)
class Written:
    """A statement that writes a batch into an array."""

    source: Source
    frame: Frame
    target: ast.Subscript
    array: Value
    rows: int
    """Of what is written; `room` of the part that it is written to."""
    room: int
    single: bool
    """One number chooses the part: the array has an axis for the batches."""


@RULE.on(Crash)
def the_last_batch_does_not_fill_its_part(crash: Crash, seen: Recording) -> Iterator[Finding]:
    written = written_in(crash, seen) if is_cause(crash, seen) else None
    short = short_batch(crash, seen, written.rows) if written else None
    if written is None or short is None:
        return
    made = made_by(written)
    yield RULE.finding(
        Place(written.source.file, made.lineno) if made else written.frame.place,
        headline(written, short),
        facts=tuple(facts(written, short)),
        why="The last batch of a loader has the rows that are left over, unless it drops them.",
        fixes=tuple(fixes(written, made, short)),
        python_said=crash.said,
        about=crash.id,
    )


def written_in(crash: Crash, seen: Recording) -> Written | None:
    frame = crash.own_frame
    if frame is None or frame is not crash.frames[-1]:
        return None
    source = seen.source(frame.place)
    statement = source.statement_at(frame.place.line or 0) if source else None
    match statement:
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            pass
        case _:
            return None
    array = of_name(frame, ast.unparse(target.value))
    rows = rows_of(frame, value)
    if source is None or array is None or not array.shape or rows is None:
        return None
    numbers = {one.text: int(one.scalar) for one in frame.values if type(one.scalar) is int}
    first = target.slice.elts[0] if isinstance(target.slice, ast.Tuple) else target.slice
    if isinstance(first, ast.Slice):
        room = room_in(source, first, numbers, array.shape[0])
        single = False
    else:
        number = place_in(source, first, numbers, 0)
        room = array.shape[1] if number is not None and len(array.shape) > 1 else None
        single = True
    if room is None or room == rows:
        return None
    return Written(source, frame, target, array, rows, room, single)


def of_name(frame: Frame, text: str) -> Value | None:
    return next((one for one in frame.values if one.text == text and one.shape is not None), None)


def rows_of(frame: Frame, node: ast.expr) -> int | None:
    """Of what is written: by its name, through methods that keep rows."""
    while True:
        value = of_name(frame, ast.unparse(node))
        if value is not None:
            return value.shape[0] if value.shape else None
        if not isinstance(node, ast.Call) or called(node) not in KEEPS_ROWS:
            return None
        if not isinstance(node.func, ast.Attribute):
            return None
        library = ast.unparse(node.func.value) in ("torch", "np", "numpy", "F")
        if library and not node.args:
            return None
        node = node.args[0] if library else node.func.value


def room_in(source: Source, part: ast.Slice, numbers: dict[str, int], length: int) -> int | None:
    """Places of a slice, as Python counts them."""
    if part.step is not None:
        return None
    first = place_in(source, part.lower, numbers, 0)
    last = place_in(source, part.upper, numbers, length)
    if first is None or last is None:
        return None
    return len(range(*slice(first, last).indices(length)))


def place_in(
    source: Source, node: ast.expr | None, numbers: dict[str, int], default: int
) -> int | None:
    if node is None:
        return default
    known = numbers.get(ast.unparse(node))
    return known if known is not None else number_of(source, node, numbers)


def made_by(written: Written) -> ast.Call | None:
    """The call that makes the array, if it is made once, of sizes."""
    node = written.target.value
    value = written.source.value_of(node) if isinstance(node, ast.Name) else None
    return value if isinstance(value, ast.Call) and called(value) in MAKES[:4] else None


def headline(written: Written, short: ShortBatch) -> str:
    name = code(ast.unparse(written.target.value))
    if written.room < written.rows:
        left = "no room" if not written.room else f"room for {counted(written.room, 'row')}"
        long = (written.array.shape or (0,))[0]
        return (
            f"{name} has {left} left for the last batch, which has {counted(written.rows, 'row')}:"
            f" {short.total} rows come, and it is {long} long."
        )
    return (
        f"{name} is made for whole batches of {written.room}, and the last batch has"
        f" {counted(written.rows, 'row')}."
    )


def facts(written: Written, short: ShortBatch) -> Iterator[Fact]:
    yield Fact(code(ast.unparse(written.target.value)), shape_of(written.array.shape or ()))
    yield Fact("the part for this batch", counted(written.room, "row"))
    yield Fact("rows in all", short.arithmetic)
    yield Fact("written at", f"{written.frame.place}  {' '.join(written.frame.line.split())}")


def fixes(written: Written, made: ast.Call | None, short: ShortBatch) -> Iterator[Fix]:
    name = ast.unparse(written.target.value)
    joined = "np.concatenate" if written.array.kind in ("ndarray", "memmap") else "torch.cat"
    gather = f"gather the batches in a list, and join them behind the loop: `{joined}(...)`."
    if written.single:
        yield Fix(
            f"Batches of several sizes have no array of their own axis: {gather}",
            why_not_tried="what follows must know of the other shape",
        )
        return
    edit, text = longer(written, made) if made else (None, "")
    if edit is None:
        yield Fix(
            f"Make {code(name)} as long as the set, `len(loader.dataset)`; or {gather}",
            why_not_tried="where it is made was not found",
        )
        return
    must = ValuesAt(written.frame.place, (Wanted(name, rows=short.total),))
    yield Fix(
        f"Make {code(name)} as long as the set: {code(text)} for its first size. The last part"
        f" then ends with it; or {gather}",
        edit,
        must,
    )


def longer(written: Written, made: ast.Call) -> tuple[Edit | None, str]:
    """With `len(loader.dataset)` for its first size."""
    source = written.source
    size = made.args[0] if made.args else None
    if isinstance(size, ast.Tuple | ast.List):
        size = size.elts[0] if size.elts else None
    loader = looped(written)
    if size is None or loader is None:
        return None, ""
    text = f"len({loader}.dataset)"
    return replaced(source, size, text), text


def looped(written: Written) -> str | None:
    """What the loop around goes through, without `enumerate` and the like; it must be known where
    the array is made."""
    source = written.source
    for outer in source.up(written.target):
        if isinstance(outer, ast.For):
            node = outer.iter
            while isinstance(node, ast.Call) and node.args:
                node = node.args[0]
            return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else None
    return None
