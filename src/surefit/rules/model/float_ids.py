"""Ids come as floats to where only whole numbers can be looked up.

## What happens
An embedding, `gather`, `one_hot` and an index in brackets take whole numbers. Ids become floats far
away: `torch.Tensor(ids)` and `torch.FloatTensor(ids)` make float32 of everything, `torch.zeros` to
fill up a batch is float32, a column of pandas with a blank cell is float64, and `.float()` or
`/ 255` for the features takes the ids along.

## Why it matters
`.long()` at the embedding hides it: float32 has no room for whole numbers above 16,777,216, and ids
that were scaled all become 0.

## What to do
Make them whole numbers where they are made: `torch.tensor(ids, dtype=torch.long)`,
`torch.LongTensor(ids)`, `.astype("int64")`. Scale features, never ids.

## How it is recognised
What was looked up has a dtype that no lookup takes. By a second run that records every operation,
and by the source of the dataset, it is followed back to the expression that made floats of it. A
cast is tried only if every number is whole.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import msgspec

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame, Operation, Question, Value
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of, spoken
from surefit.evidence.failed_operations import Failure, failure_of
from surefit.evidence.failing_expressions import parsed
from surefit.evidence.float_makers import Maker, assigned, float_maker, is_column
from surefit.evidence.frame_names import named
from surefit.evidence.index_calls import READING, WRITING, given_to, tensor
from surefit.evidence.layer_names import name as layer_name
from surefit.evidence.made_names import name_at
from surefit.evidence.returned_rows import returned_for
from surefit.evidence.stray_names import Named
from surefit.evidence.strays import PARAMETER, back_to_origin, is_floating
from surefit.evidence.table_lookups import LOOKUPS
from surefit.evidence.value_stories import line_of
from surefit.source.edits import appended, both, wrapped
from surefit.source.reading import Source, called

RULE = Rule(
    "SF346",
    "float-ids",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Expected tensor for argument #1 'indices' to have one of the following scalar types"
            r"|tensors used as indices must be long|Expected dtype int(32/int)?64 for index"
            r"|one_hot is only applicable to index tensor"
            r"|arrays used as indices must be of integer",
            "where the ids became floats, and whether all of them are whole numbers",
        ),
    ),
)

WHOLE = ("int32", "int64")
ALSO = ("uint8", "bool")
"""An index in brackets may be one of these, too."""
SCALES = ("truediv", "div", "sub", "mul", "normalize", "std", "mean")


@dataclass(frozen=True, slots=True)
class Ids:
    """What was looked up, and could not be."""

    value: Value
    frame: int
    text: str
    taker: str
    rows: int | None = None
    """Of the table."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """What the ids hold."""

    whole: bool
    values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """The parts of a row that are ids, in a table that holds other columns, too."""

    place: Place
    fix: Fix


@RULE.on(Crash)
def ids_are_floats(crash: Crash, seen: Recording) -> Iterator[Finding]:
    ids = ids_in(crash, seen) if is_cause(crash, seen) else None
    own = crash.own_frame
    if ids is None or own is None:
        return
    said = seen.ask(Question("labels", crash.id, {"frame": ids.frame, "text": ids.text}))
    numbers = msgspec.convert(said, Numbers, strict=False) if said else None
    failure = failure_of(seen, crash)
    if numbers is None:
        return
    names = names_of(crash, ids.value)
    operation = origin(failure, ids.value, numbers.whole) if failure else None
    maker = maker_of(seen, operation, names)
    columns = cut_from_a_table(seen, names, numbers)
    if columns is None and maker and maker.shared:
        columns = columns_of(crash, seen, names)
    place = place_of(operation) or (names[-1].frame if names else own).place
    place = columns.place if columns else maker.place if maker else place
    yield RULE.finding(
        place,
        headline(ids, names, numbers),
        facts=tuple(facts(seen, ids, names, numbers, operation, maker)),
        why=why(ids, numbers, maker),
        fixes=(columns.fix if columns else fix(ids, names, numbers, maker),),
        python_said=crash.said,
        about=crash.id,
    )


def ids_in(crash: Crash, seen: Recording) -> Ids | None:
    last = crash.frames[-1]
    if not last.own:
        return looked_up(crash, last)
    source = seen.source(last.place)
    node = source.expression_at(last.span) if source and last.span else None
    if source is None or node is None:
        return None
    given = index_in(source, node)
    value = tensor(last, given) if given is not None else None
    if value is None or given is None or not is_no_index(value, isinstance(node, ast.Subscript)):
        return None
    taker = f"`{called(node)}`" if isinstance(node, ast.Call) else "an index in brackets"
    return Ids(value, len(crash.frames) - 1, ast.unparse(given), taker)


def looked_up(crash: Crash, last: Frame) -> Ids | None:
    """In a table of torch's own."""
    if last.function not in LOOKUPS:
        return None
    values = {value.text: value for value in last.values}
    ids = values.get("input")
    if ids is None or not ids.dtype or ids.dtype in WHOLE:
        return None
    layer = next((one.layer for one in reversed(crash.frames) if one.layer), None)
    taker = f"the embedding {layer_name(layer)}" if layer else "the embedding"
    rows = (values["weight"].shape or (None,))[0] if "weight" in values else None
    return Ids(ids, len(crash.frames) - 1, "input", taker, rows)


def index_in(source: Source, node: ast.expr) -> ast.expr | None:
    """The index that an expression looks up by."""
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        found = [one for one in parts if isinstance(one, ast.Name | ast.Attribute | ast.Subscript)]
        return found[0] if len(found) == 1 else None
    if not isinstance(node, ast.Call):
        return None
    if called(node) == "one_hot":
        return node.args[0] if node.args else None
    if called(node) in (*READING, *WRITING, "index_select"):
        given = given_to(source, node, called(node))[1]
        return given.get("index") or given.get("indices")
    return None


def is_no_index(value: Value, in_brackets: bool) -> bool:
    floating = (value.dtype or "").startswith(("float", "bfloat"))
    return floating or (not in_brackets and value.dtype not in (*WHOLE, None))


def names_of(crash: Crash, value: Value) -> list[Named]:
    """What the user's frames call the very tensor, innermost first; before it was moved or
    reshaped, the nearest of its shape."""
    every = [
        Named(frame, text, one)
        for frame in reversed(crash.frames)
        if frame.own
        for text, one in named(frame)
        if one.dtype == value.dtype
    ]
    same = [one for one in every if one.value.identity == value.identity]
    return same or [one for one in every if prod(one.value.shape or ()) == prod(value.shape or ())]


def origin(failure: Failure, value: Value, whole: bool) -> Operation | None:
    """The operation that made floats of what was whole; of numbers with a fraction, the one that
    scaled them."""
    given = [
        one
        for one in failure.given
        if one.name != PARAMETER
        and (prod(one.shape), one.dtype) == (prod(value.shape or ()), value.dtype)
    ]
    if not given:
        return None
    chain = list(back_to_origin(failure, given[0], kind_of))
    scaled = [one for one in chain if one.own and one.name.strip("_") in SCALES]
    return scaled[-1] if scaled and not whole else chain[-1]


def kind_of(operation: Operation) -> str:
    return "float" if is_floating(operation) else operation.dtype


def maker_of(seen: Recording, operation: Operation | None, names: list[Named]) -> Maker | None:
    source = seen.source(operation.place) if operation and operation.own else None
    if source is not None and operation is not None and operation.place is not None:
        made = at_operation(source, operation)
        if made is not None:
            return made
    outside = next((one for one in reversed(names) if one.frame.layer is None), None)
    returned = returned_for(seen, outside) if outside else None
    if returned is not None:
        return float_maker(returned.source, returned.node)
    return by_name(seen, outside) if outside else None


def at_operation(source: Source, operation: Operation) -> Maker | None:
    """The call on its line, or what that was given."""
    line = operation.place.line if operation.place else None
    name = operation.name.strip("_")
    nodes: list[ast.expr] = [one for one in source.calls_in(line or 0) if called(one) == name]
    if name in ("truediv", "div"):
        every = (one for one in source.every(ast.BinOp) if one.lineno == line)
        nodes = [one for one in every if isinstance(one.op, ast.Div)]
    return float_maker(source, nodes[0]) if len(nodes) == 1 else None


def by_name(seen: Recording, named: Named) -> Maker | None:
    """Where the name gets its value, in the function that reads it."""
    source = seen.source(named.frame.place)
    statement = source.statement_at(named.frame.place.line or 0) if source else None
    for node in ast.walk(statement) if statement is not None else ():
        if source is not None and isinstance(node, ast.Name) and node.id == named.text:
            value = assigned(source, node)
            return float_maker(source, value) if value is not None else None
    return None


def cut_from_a_table(seen: Recording, names: list[Named], numbers: Numbers) -> Columns | None:
    """`x[:, 0]` of a table of floats, of which other columns are features: a cast where it is cut
    leaves them as they are."""
    first = names[0] if names and numbers.whole else None
    node = parsed(first.text) if first else None
    source = seen.source(first.frame.place) if first else None
    if first is None or source is None or not isinstance(node, ast.Subscript):
        return None
    table = next((o for t, o in named(first.frame) if t == ast.unparse(node.value)), None)
    if table is None or not table.shape or len(table.shape) < 2 or not is_column(node):
        return None
    statement = source.statement_at(first.frame.place.line or 0)
    every = (
        [one for one in ast.walk(statement) if isinstance(one, ast.Subscript)] if statement else []
    )
    found = [one for one in every if ast.unparse(one) == first.text]
    if len(found) != 1:
        return None
    edit = appended(source, found[0], ".long()")
    text = f"Cast it where it is cut from the table: `{first.text}.long()`."
    name = name_at(source, first.frame.place)
    must = None
    if name is not None:
        shape = (*(first.value.shape or ()), None)
        must = ValuesAt(first.frame.place, (Wanted(name, shape),), after=True)
    why_not = "" if must else "its result has no name on that line"
    return Columns(first.frame.place, Fix(text, edit, must, why_not))


def columns_of(crash: Crash, seen: Recording, names: list[Named]) -> Columns | None:
    """All that the same call is given and is whole, made whole in the row that a dataset gives."""
    outside = next((one for one in reversed(names) if one.frame.layer is None), None)
    given = given_with(crash, seen, outside) if outside else []
    parts = [(one, returned_for(seen, one)) for one in given]
    found = [(one, part) for one, part in parts if part is not None]
    if outside is None or not found:
        return None
    edits = [wrapped(part.source, part.node, *brackets(one.value)) for one, part in found]
    edit = edits[0]
    for more in edits[1:]:
        edit = both(edit, more)
    texts = [part.source.segment(part.node).join(brackets(one.value)) for one, part in found]
    wanted = tuple(Wanted(one.text, one.value.shape, "int64", least=0) for one, _ in found)
    text = f"Make whole numbers of the ids where a row is made: {spoken(map(code, texts))}."
    must = ValuesAt(outside.frame.place, wanted)
    return Columns(found[0][1].place, Fix(text, edit, must))


def brackets(value: Value) -> tuple[str, str]:
    """Of a column with one number in a row, and of one with several."""
    if len(value.shape or ()) == 1:
        return "int(", ")"
    return "torch.as_tensor(", ", dtype=torch.long)"


def given_with(crash: Crash, seen: Recording, named_ids: Named) -> list[Named]:
    """The ids, and what else of floats that are whole the model was given in the same call."""
    frame = named_ids.frame
    source = seen.source(frame.place)
    call = source.expression_at(frame.span) if source and frame.span else None
    given = (
        [*call.args, *(one.value for one in call.keywords)] if isinstance(call, ast.Call) else []
    )
    texts = {ast.unparse(one) for one in given}
    found = [named_ids]
    for text, value in named(frame):
        known = text in {one.text for one in found}
        if text not in texts or known or value.dtype != named_ids.value.dtype:
            continue
        about = {"frame": crash.frames.index(frame), "text": text}
        said = seen.ask(Question("labels", crash.id, about))
        if said and said.get("whole"):
            found.append(Named(frame, text, value))
    return found


def place_of(operation: Operation | None) -> Place | None:
    own = operation is not None and operation.own
    return operation.place if operation is not None and own else None


def headline(ids: Ids, names: list[Named], numbers: Numbers) -> str:
    what = code(names[-1].text) if names else "What is looked up"
    if numbers.whole:
        return f"{what} is {ids.value.dtype}, and {ids.taker} takes whole numbers only."
    return f"{what} has fractions ({example(numbers)}), and {ids.taker} takes whole numbers only."


def example(numbers: Numbers) -> str:
    return f"{next((one for one in numbers.values if one != round(one)), 0.5):g}"


def facts(
    seen: Recording,
    ids: Ids,
    names: list[Named],
    numbers: Numbers,
    operation: Operation | None,
    maker: Maker | None,
) -> Iterator[Fact]:
    value = ids.value
    bounds = ""
    if value.least is not None and value.greatest is not None:
        bounds = f", from {value.least:g} to {value.greatest:g}"
    shape = shape_of(value.shape or ())
    where = f", at {names[0].frame.place}" if names else ""
    shape = shape_of(names[0].value.shape or ()) if names else shape
    yield Fact(code(names[0].text) if names else "it", f"{value.dtype} {shape}{bounds}{where}")
    yield Fact("every one is whole", "yes" if numbers.whole else "no")
    if operation is not None and operation.own and operation.place is not None:
        yield Fact(f"{operation.dtype} since", f"{operation.place}  {line_of(operation, seen)}")
    elif maker is not None:
        yield Fact(
            "made at", f"{maker.place}  {' '.join(maker.source.segment(maker.node).split())}"
        )


def why(ids: Ids, numbers: Numbers, maker: Maker | None) -> str:
    if not numbers.whole:
        return "An id is the number of a row in a table; between two rows there is none."
    if maker is not None and called_type(maker) == "Tensor":
        return "`torch.Tensor` makes floats of every number; `torch.tensor` keeps whole ones."
    if (ids.value.dtype or "") in ALSO:
        return f"{ids.value.dtype} is no dtype that ids are looked up in."
    return "An id is the number of a row in a table, and is looked up as int32 or int64 only."


def called_type(maker: Maker) -> str:
    return called(maker.node) if isinstance(maker.node, ast.Call) else ""


def fix(ids: Ids, names: list[Named], numbers: Numbers, maker: Maker | None) -> Fix:
    if not numbers.whole and not (maker and maker.divides and ids.text != "input"):
        said = "Leave the ids as they are, and scale features only"
        return Fix(
            f"{said}; if these are no ids, a layer such as `nn.Linear` is meant.",
            why_not_tried="what the numbers are meant to be only you know",
        )
    if maker is None or maker.edit is None or not names:
        return Fix(
            "Make whole numbers of them where they are made: `dtype=torch.long`.",
            maker.edit if maker else None,
            why_not_tried="the expression that makes them was not found",
        )
    value = ids.value
    first = names[-1]
    shape = first.value.shape
    if maker.divides:
        must = ValuesAt(first.frame.place, (Wanted(first.text, shape, "int64", least=0),))
        text = f"Divide without a fraction: {code(maker.text)}, which rounds down."
        return Fix(text, maker.edit, must)
    most = None if ids.rows is None else float(ids.rows - 1)
    least = None if (value.least or 0) < 0 else 0.0
    wanted = Wanted(first.text, shape, "int64", least=least, greatest=most)
    must = ValuesAt(first.frame.place, (wanted,))
    return Fix(f"Make whole numbers of them here: {code(maker.text)}.", maker.edit, must)
