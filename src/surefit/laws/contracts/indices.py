"""What an index is: integers, of the axes that the operation takes, inside what they index."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.violations import Expression, Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.laws.contracts.tables import LOOKUPS
from surefit.laws.label_values import LabelValues
from surefit.laws.layer_words import layer_name
from surefit.laws.names import handed_text, name_in
from surefit.source.reading import Source, called

READING = ("gather", "take_along_dim")
WRITING = ("scatter", "scatter_", "scatter_add", "scatter_add_", "scatter_reduce")
SELECTING = ("index_select",)
PICKS = (*READING, *WRITING, *SELECTING)
ARGUMENTS = {"take_along_dim": ("indices", "dim")}
"""Names of what follows the tensor, in order; of the others:"""
USUAL = ("dim", "index", "src")
INTEGERS = ("int32", "int64")
BRACKETS = "an index in brackets"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDtype(Violation):
    """Something was looked up by numbers of a dtype that nothing is looked up by."""

    ids: Operand
    taker: str
    """What takes them, in words."""
    rows: int = 0
    """Of the table, where there is one."""
    numbers: LabelValues


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexArguments(Violation):
    """`of.gather(axis, index)`, and the two do not go together."""

    name: str
    of: Operand
    index: Operand
    axis: int
    """From 0."""
    axis_use: Expression | None
    src: Operand | None = None

    @property
    def size(self) -> int:
        return self.of.shape[self.axis]

    @property
    def writes(self) -> bool:
        return self.name in WRITING

    @property
    def least(self) -> int:
        return int(self.index.value.least or 0)

    @property
    def greatest(self) -> int:
        return int(self.index.value.greatest or 0)


class IndexShape(IndexArguments):
    """Other axes than the tensor has, or a longer one."""


class IndexRange(IndexArguments):
    """The axes are right, and some numbers lie outside the axis that is picked along."""


def violations_of(case: Case) -> Iterator[Violation]:
    crash, own = case.crash, case.own
    if crash is None or own is None:
        return
    if crash.frames[-1] is not own:
        yield from floats_in_table(case, crash, crash.frames[-1])
        return
    node, source = case.node(use_of(own)), case.source(own.place)
    broken: Violation | None = None
    if source is not None and isinstance(node, ast.Call):
        broken = floats_in(case, own, source, node) or of_call(case, source, node)
    elif source is not None and isinstance(node, ast.Subscript):
        broken = floats_in(case, own, source, node) or of_brackets(case, source, node)
    if broken is not None:
        yield broken


def floats_in_table(case: Case, crash: Crash, last: Frame) -> Iterator[IndexDtype]:
    values = {value.text: value for value in last.values}
    ids, own = values.get("input"), crash.own_frame
    if last.function not in LOOKUPS or ids is None or own is None:
        return
    if not ids.dtype or ids.dtype in INTEGERS:
        return
    at = len(crash.frames) - 1
    layer = next((frame.layer for frame in reversed(crash.frames) if frame.layer), None)
    numbers = case.ask(LabelValues, frame=at, text="input")
    text = name_in(case, ids, at) or handed_text(case)
    if numbers is not None:
        yield IndexDtype(
            use=use_of(own),
            ids=Operand(value=ids, name=in_code(text, "`input`"), frame=at),
            taker=f"the embedding {layer_name(layer)}" if layer else "the embedding",
            rows=(values["weight"].shape or (0,))[0] if "weight" in values else 0,
            numbers=numbers,
        )


def floats_in(case: Case, own: Frame, source: Source, node: ast.expr) -> IndexDtype | None:
    index = index_in(source, node)
    value = value_of(own, index) if index is not None else None
    if index is None or value is None or not value.dtype:
        return None
    in_brackets = isinstance(node, ast.Subscript)
    floating = value.dtype.startswith(("float", "bfloat"))
    if not floating and (in_brackets or value.dtype in INTEGERS):
        return None
    at = case.crash.frames.index(own) if case.crash is not None else 0
    numbers = case.ask(LabelValues, frame=at, text=value.text)
    if numbers is None:
        return None
    use = case.expression(source, index)
    taker = BRACKETS if in_brackets else f"`{called(node)}`" if isinstance(node, ast.Call) else ""
    ids = Operand(value=value, name=in_code(use.text, "the index"), frame=at, use=use)
    return IndexDtype(use=use_of(own), ids=ids, taker=taker, numbers=numbers)


def index_in(source: Source, node: ast.expr) -> ast.expr | None:
    """The index that an expression looks up by."""
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        plain = ast.Name | ast.Attribute | ast.Subscript
        named = [part for part in parts if isinstance(part, plain)]
        return named[0] if len(named) == 1 else None
    if isinstance(node, ast.Call) and called(node) == "one_hot":
        return node.args[0] if node.args else None
    if isinstance(node, ast.Call) and called(node) in PICKS:
        given = given_to(source, node)[1]
        return given.get("index") or given.get("indices")
    return None


def of_call(case: Case, source: Source, call: ast.Call) -> IndexArguments | None:
    """A call that picks by an index with the axes of the tensor, or along one axis."""
    of, given = given_to(source, call)
    index, dim, src = given.get("index") or given.get("indices"), given.get("dim"), given.get("src")
    if called(call) not in PICKS or of is None or index is None or dim is None or not case.own:
        return None
    tensor, picks = operand(case, source, of), operand(case, source, index)
    axis = number_of(case, source, dim)
    if tensor is None or picks is None or axis is None or not tensor.shape or not picks.shape:
        return None
    axes = len(tensor.shape)
    kind = kind_of(called(call), tensor.shape, picks, axis % axes) if abs(axis) <= axes else None
    if kind is None or axis == axes:
        return None
    number = isinstance(src, ast.Constant | ast.UnaryOp)
    return kind(
        use=use_of(case.own),
        name=called(call),
        of=tensor,
        index=picks,
        axis=axis % axes,
        axis_use=case.expression(source, dim),
        src=operand(case, source, src) if src is not None and not number else None,
    )


def kind_of(
    name: str, of: tuple[int, ...], index: Operand, axis: int
) -> type[IndexArguments] | None:
    shape = index.shape
    if name not in SELECTING:
        if len(shape) != len(of):
            return IndexShape
        pairs = enumerate(zip(shape, of, strict=True))
        longer = [at for at, (size, other) in pairs if size > other and at != axis]
        if longer and name != "take_along_dim":
            return IndexShape
    return IndexRange if is_outside(index.value, 0, of[axis]) else None


def is_outside(index: Value, least: int, size: int) -> bool:
    if index.least is None or index.greatest is None:
        return False
    return index.least < least or index.greatest >= size


def of_brackets(case: Case, source: Source, node: ast.Subscript) -> IndexArguments | None:
    """`weights[labels]`, `logp[rows, labels]`: negative numbers count from the end."""
    tensor = operand(case, source, node.value)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if tensor is None or case.own is None or not tensor.shape or len(parts) > len(tensor.shape):
        return None
    if any(isinstance(part, ast.Constant) for part in parts):  # None and ... shift the axes
        return None
    for axis, part in enumerate(parts):
        index = None if isinstance(part, ast.Slice) else operand(case, source, part)
        size = tensor.shape[axis]
        if index is not None and index.value.shape and is_outside(index.value, -size, size):
            return IndexRange(
                use=use_of(case.own), name="[]", of=tensor, index=index, axis=axis, axis_use=None
            )
    return None


def given_to(source: Source, call: ast.Call) -> tuple[ast.expr | None, dict[str, ast.expr]]:
    """The tensor that is picked from, and the arguments after it by name."""
    plain = list(call.args)
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    if any(isinstance(argument, ast.Starred) for argument in plain):
        return None, {}
    if source.imported(call.func).startswith("torch."):
        of = plain.pop(0) if plain else named.get("input")
    else:
        of = call.func.value if isinstance(call.func, ast.Attribute) else None
    return of, {**dict(zip(ARGUMENTS.get(called(call), USUAL), plain, strict=False)), **named}


def operand(case: Case, source: Source, node: ast.expr) -> Operand | None:
    """By the frame's values; of an expression that it has none for, by the second run."""
    own, crash = case.own, case.crash
    if own is None or crash is None:
        return None
    at, use = crash.frames.index(own), case.expression(source, node)
    name = in_code(use.text, "the tensor")
    value = value_of(own, node)
    if value is not None:
        return Operand(value=value, name=name, frame=at, use=use)
    if isinstance(node, ast.Slice | ast.Constant):
        return None
    text = ast.unparse(node)
    asked = Operand(value=Value(text, ""), name=name, frame=at, use=use)
    newest = next((known for known in case.lineage(asked).all if known.value.shape), None)
    if newest is None or ast.unparse(case.node(newest) or node) != text:
        return None
    return Operand(value=newest.value, name=name, frame=at, use=use)


def value_of(frame: Frame, node: ast.expr) -> Value | None:
    text = ast.unparse(node)
    values = (value for value in frame.values if value.text == text)
    return next((value for value in values if value.shape is not None and value.dtype), None)


def number_of(case: Case, source: Source, node: ast.expr) -> int | None:
    """A literal, or what the frame says that a name is."""
    try:
        number = ast.literal_eval(node)
    except ValueError:
        values = case.own.values if case.own is not None else ()
        text = source.segment(node)
        number = next((value.scalar for value in values if value.text == text), None)
    return number if type(number) is int else None
