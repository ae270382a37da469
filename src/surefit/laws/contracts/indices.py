"""What an index is: integers, of the axes that the operation takes, inside what they index."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Expression, Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.laws.contracts.tables import LOOKUPS, looked_up
from surefit.laws.layers.layer_words import layer_name
from surefit.laws.operations.demands import conflicts, number_in
from surefit.laws.operations.failing_calls import failing_call
from surefit.laws.operations.operands import operand_in
from surefit.laws.values.frame_numbers import tensor_in
from surefit.laws.values.label_values import LabelValues
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
    own, node, source = case.own, case.node(case.own), case.source(case.own)
    broken: Violation | None = None
    if own is not None and case.frames[-1] is not own:
        broken = floats_in_table(case, own, case.frames[-1])
    elif own is not None and source is not None and isinstance(node, ast.Call):
        broken = floats_in(case, own, source, node) or of_call(case, own)
    elif own is not None and source is not None and isinstance(node, ast.Subscript):
        broken = floats_in(case, own, source, node) or of_brackets(case, own, source, node)
    if broken is not None:
        yield broken


def floats_in_table(case: Case, own: Frame, last: Frame) -> IndexDtype | None:
    ids, weight = last.value("input"), last.value("weight")
    if last.function not in LOOKUPS or ids is None or not ids.dtype or ids.dtype in INTEGERS:
        return None
    layer = next((frame.layer for frame in reversed(case.frames) if frame.layer), None)
    operand = looked_up(case, ids)
    numbers = case.ask(LabelValues, frame=operand.frame, text="input")
    if numbers is None:
        return None
    return IndexDtype(
        use=use_of(own),
        ids=operand,
        taker=f"the embedding {layer_name(layer)}" if layer else "the embedding",
        rows=(weight.shape or (0,))[0] if weight is not None else 0,
        numbers=numbers,
    )


def floats_in(case: Case, own: Frame, source: Source, node: ast.expr) -> IndexDtype | None:
    index = index_in(source, node)
    value = tensor_in(own, index) if index is not None else None
    if index is None or value is None or not value.dtype:
        return None
    in_brackets = isinstance(node, ast.Subscript)
    floating = value.dtype.startswith(("float", "bfloat"))
    if not floating and (in_brackets or value.dtype in INTEGERS):
        return None
    numbers = case.ask(LabelValues, frame=case.number, text=value.text)
    if numbers is None:
        return None
    use = case.expression(source, index)
    taker = BRACKETS if in_brackets else f"`{called(node)}`" if isinstance(node, ast.Call) else ""
    ids = Operand(value=value, name=in_code(use.text, "the index"), frame=case.number, use=use)
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


def of_call(case: Case, own: Frame) -> IndexArguments | None:
    """A call that picks by an index with the axes of the tensor, or along one axis."""
    call = failing_call(case)
    if call is None or not call.written or call.operation not in PICKS:
        return None
    conflict = next(conflicts(call.contract.demands, call.given), None)
    kind = KINDS.get(conflict.about) if conflict and conflict.side.argument == "index" else None
    tensor, axis = call.operands["input"], number_in(call.given, "dim")
    if kind is None or axis is None:
        return None
    src = call.operands.get("src")
    return kind(
        use=use_of(own),
        name=call.operation,
        of=tensor,
        index=call.operands["index"],
        axis=axis % len(tensor.shape),
        axis_use=call.operands["dim"].use if "dim" in call.operands else None,
        src=src if src is not None and src.value.shape is not None else None,
    )


KINDS: dict[str, type[IndexArguments]] = {
    "axes": IndexShape,
    "size": IndexShape,
    "number": IndexRange,
}
"""What a conflict of the index is about -> the violation."""


def is_outside(index: Value, least: int, size: int) -> bool:
    if index.least is None or index.greatest is None:
        return False
    return index.least < least or index.greatest >= size


def of_brackets(
    case: Case, own: Frame, source: Source, node: ast.Subscript
) -> IndexArguments | None:
    """`weights[labels]`, `logp[rows, labels]`: negative numbers count from the end."""
    tensor = operand_in(case, source, node.value)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if not tensor.shape or len(parts) > len(tensor.shape):
        return None
    if any(isinstance(part, ast.Constant) for part in parts):  # None and ... shift the axes
        return None
    for axis, part in enumerate(parts):
        index = None if isinstance(part, ast.Slice) else operand_in(case, source, part)
        size = tensor.shape[axis]
        if index is not None and index.value.shape and is_outside(index.value, -size, size):
            return IndexRange(
                use=use_of(own), name="[]", of=tensor, index=index, axis=axis, axis_use=None
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
