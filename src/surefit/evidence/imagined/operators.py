"""Operators: arithmetic, comparisons, subscripts, and writing in place."""

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surefit.evidence.imagined import memory
from surefit.evidence.imagined.graphs import cut_off, derived, has_weights, touched
from surefit.evidence.imagined.mishaps import Indivisible, KeyMissing, NoGradient
from surefit.evidence.imagined.modules import DEFINITE, is_known_whole
from surefit.evidence.imagined.operations import (
    FLOATS,
    NO_GRAPH,
    added,
    copy_numbers,
    multiplied,
    reshaped_result,
)
from surefit.evidence.imagined.operations import transposed as transposed
from surefit.evidence.imagined.operations import written as written
from surefit.evidence.imagined.shapes import ANY, Shape, Size, broadcast, sliced
from surefit.evidence.imagined.values import (
    UNKNOWN,
    Bound,
    Each,
    Known,
    Layer,
    Listed,
    Mapped,
    Parameters,
    Scope,
    Tensor,
    Whole,
    listed,
    whole,
)

if TYPE_CHECKING:
    from surefit.evidence.imagined.running import Run

ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
COMPARES: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
LARGEST = 10**9
MOST_COPIES = 64


@dataclass(frozen=True, slots=True)
class Sliced:
    """`1:-1` between brackets."""

    lower: Any
    upper: Any
    step: Any


Nodes = tuple[ast.AST, ast.AST]


def binary(run: "Run", left: Any, op: ast.operator, right: Any, nodes: Nodes, node: ast.AST) -> Any:
    if isinstance(left, Known) and isinstance(right, Known):
        return numbers(left, op, right, node)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return with_tensor(run, left, op, right, nodes, node)
    if isinstance(left, Listed) or isinstance(right, Listed):
        return lists(left, op, right, node)
    for one in (left, right):
        if isinstance(one, Each) and one.grad:
            look_for_no_gradient(run, one, node)
    if isinstance(left, Whole | Known) and isinstance(right, Whole | Known):
        is_whole = isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod)
        floats = [one for one in (left, right) if isinstance(one, Known)]
        if is_whole and all(type(one.value) is int for one in floats):
            return Whole()
    return UNKNOWN


def numbers(left: Known, op: ast.operator, right: Known, node: ast.AST) -> Any:
    plain = (int, float, str, tuple)
    one, other = left.value, right.value
    if not isinstance(one, plain) or not isinstance(other, plain) or type(op) not in ARITHMETIC:
        return UNKNOWN
    if isinstance(one, str) and not isinstance(op, ast.Add):
        return UNKNOWN
    if isinstance(op, ast.Pow) and not is_small(one, 1000, other, 64):
        return UNKNOWN
    try:
        got = ARITHMETIC[type(op)](one, other)
    except (TypeError, ValueError, ArithmeticError):
        return UNKNOWN
    if isinstance(got, int | float) and abs(got) > LARGEST:
        return UNKNOWN
    if isinstance(got, complex):
        return UNKNOWN
    return Known(got, node if isinstance(node, ast.expr) else None)


def is_small(base: Any, most: int, power: Any, highest: int) -> bool:
    numbers = isinstance(base, int | float) and isinstance(power, int | float)
    return numbers and abs(base) <= most and abs(power) <= highest


def lists(left: Any, op: ast.operator, right: Any, node: ast.AST) -> Any:
    if isinstance(op, ast.Add) and isinstance(left, Listed) and isinstance(right, Listed):
        if left.items is None or right.items is None:
            return listed(left.kind, None, node)
        return listed(left.kind, (*left.items, *right.items), node)
    if isinstance(op, ast.Mult):
        several, count = (left, whole(right)) if isinstance(left, Listed) else (right, whole(left))
        assert isinstance(several, Listed)
        if several.items is None or count is None or count * len(several.items) > MOST_COPIES:
            return listed(several.kind, None, node)
        return listed(several.kind, several.items * count, node)
    return UNKNOWN


def with_tensor(
    run: "Run", left: Any, op: ast.operator, right: Any, nodes: Nodes, node: ast.AST
) -> Any:
    arrays = [one for one in (left, right) if isinstance(one, Tensor) and one.state.get("array")]
    if arrays:
        return on_array(left, op, right, node)
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        if isinstance(op, ast.MatMult):
            return multiplied(run, left, right, nodes, node)
        keeps = not isinstance(op, ast.Add | ast.Sub)
        return added(run, left, right, nodes, node, promoted(left.dtype, right.dtype), keeps)
    tensor, other = (left, right) if isinstance(left, Tensor) else (right, left)
    assert isinstance(tensor, Tensor)
    if isinstance(op, ast.MatMult):
        return derived(run, node, ANY, [tensor, Tensor(ANY)], None)
    if not isinstance(other, Known | Whole):
        return derived(run, node, ANY, [tensor, Tensor(ANY)], None)
    keeps = isinstance(op, ast.Pow | ast.Div) and tensor is right
    made = derived(
        run, node, tensor.shape, [tensor], with_number(tensor.dtype, op, other), keeps=keeps
    )
    made.by, made.unreduced = tensor.by, tensor.unreduced
    shift(tensor, op, other, made)
    return made


def on_array(left: Any, op: ast.operator, right: Any, node: ast.AST) -> Any:
    """An array and a plain number; of two arrays nothing is said."""
    tensor, other = (left, right) if isinstance(left, Tensor) else (right, left)
    if not isinstance(other, Known) or isinstance(op, ast.MatMult):
        return UNKNOWN
    makes_float = isinstance(op, ast.Div) or isinstance(other.value, float)
    dtype = "float64" if tensor.dtype == "int64" and makes_float else tensor.dtype
    return Tensor(tensor.shape, dtype, graph=False, made=node, state=dict(tensor.state))


def shift(tensor: Tensor, op: ast.operator, other: Any, made: Tensor) -> None:
    """Whole numbers that a constant is added to."""
    number = whole(other)
    if number is None or not isinstance(op, ast.Add | ast.Sub):
        return
    copy_numbers(tensor, made)
    number = number if isinstance(op, ast.Add) else -number
    made.low = None if made.low is None else made.low + number
    made.high = None if made.high is None else made.high + number
    made.padding = None


def promoted(one: str | None, other: str | None) -> str | None:
    if one == other:
        return one
    if one in FLOATS and other in NO_GRAPH:
        return one
    if other in FLOATS and one in NO_GRAPH:
        return other
    if {one, other} == {"float32", "float64"}:
        return "float64"
    return None


def with_number(dtype: str | None, op: ast.operator, other: Any) -> str | None:
    if dtype in FLOATS:
        return dtype
    is_float = isinstance(other, Known) and isinstance(other.value, float)
    if dtype in NO_GRAPH and (isinstance(op, ast.Div) or is_float):
        return "float32"
    return dtype if dtype == "int64" and isinstance(other, Known | Whole) else None


def unary(run: "Run", op: ast.unaryop, value: Any, node: ast.AST) -> Any:
    if isinstance(value, Known):
        if isinstance(op, ast.Not):
            return Known(not value.value)
        if isinstance(value.value, int | float):
            sign = -1 if isinstance(op, ast.USub) else 1
            if isinstance(op, ast.USub | ast.UAdd):
                return Known(sign * value.value, node if isinstance(node, ast.expr) else None)
        return UNKNOWN
    if isinstance(op, ast.Not):
        known = run.truth(value)
        return UNKNOWN if known is None else Known(not known)
    if isinstance(value, Tensor) and value.state.get("array"):
        return UNKNOWN
    if isinstance(value, Tensor):
        if isinstance(op, ast.Invert):
            return cut_off(run, value, node, value.shape, value.dtype)
        made = derived(run, node, value.shape, [value], value.dtype, keeps=False)
        made.by, made.unreduced = value.by, value.unreduced
        return made
    return Whole() if isinstance(value, Whole) else UNKNOWN


def compared(run: "Run", left: Any, op: ast.cmpop, right: Any, _nodes: Nodes, node: ast.AST) -> Any:
    if isinstance(op, ast.Is | ast.IsNot):
        same = is_same(left, right)
        if same is None:
            return UNKNOWN
        return Known(same if isinstance(op, ast.Is) else not same)
    if isinstance(op, ast.In | ast.NotIn):
        return contained(left, op, right)
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        tensors = [one for one in (left, right) if isinstance(one, Tensor)]
        if any(one.state.get("array") for one in tensors):
            return UNKNOWN
        shape: Shape | None = tensors[0].shape
        if len(tensors) == 2:
            shape = broadcast(left.shape, right.shape)
        elif not isinstance(left, Known | Whole) and not isinstance(right, Known | Whole):
            shape = ANY
        made = cut_off(run, tensors[0], node, shape or ANY, "bool")
        cut = next((one for one in tensors if one.graph), None)
        if cut is not None:
            made = cut_off(run, cut, node, shape or ANY, "bool")
        return made
    if isinstance(left, Known) and isinstance(right, Known):
        try:
            return Known(bool(COMPARES[type(op)](left.value, right.value)))
        except (TypeError, KeyError):
            return UNKNOWN
    return UNKNOWN


def is_same(left: Any, right: Any) -> bool | None:
    for one, other in ((left, right), (right, left)):
        if isinstance(other, Known) and other.value is None:
            if isinstance(one, Known):
                return one.value is None
            return False if isinstance(one, DEFINITE) else None
    both = isinstance(left, Known) and isinstance(right, Known)
    if both and isinstance(left.value, bool) and isinstance(right.value, bool):
        return left.value is right.value
    return None


def contained(left: Any, op: ast.cmpop, right: Any) -> Any:
    if not isinstance(left, Known):
        return UNKNOWN
    found: bool | None = None
    if isinstance(right, Known) and isinstance(right.value, str) and isinstance(left.value, str):
        found = left.value in right.value
    elif isinstance(right, Mapped) and right.items is not None:
        found = left.value in right.items
    elif isinstance(right, Listed) and all(isinstance(one, Known) for one in right.items or [0]):
        found = any(one.value == left.value for one in right.items or ())
    if found is None:
        return UNKNOWN
    return Known(found if isinstance(op, ast.In) else not found)


def get_item(run: "Run", owner: Any, index: Any, node: ast.Subscript) -> Any:
    from surefit.evidence.imagined.items import SizesOf, as_value

    match owner:
        case Tensor():
            return indexed(run, owner, index, node)
        case SizesOf(tensor=tensor):
            number = whole(index)
            if number is not None:
                return as_value(tensor.shape.size(number))
            return sizes_sliced(tensor, index)
        case Listed(state={"items": tuple(items)}):
            return picked(items, index, owner.kind)
        case Mapped(state={"items": dict(items)}) if isinstance(index, Known):
            if index.value in items:
                return items[index.value]
            if owner.loaded is not None and isinstance(index.value, str):
                run.mishap(KeyMissing(node, owner, index.value))
            return UNKNOWN
        case Layer(kind="Sequential" | "ModuleList" | "ModuleDict") if (
            owner.state["escaped"] is False
        ):
            return child(owner, index, node)
        case Known(value=str(text)):
            number = whole(index)
            if number is not None and -len(text) <= number < len(text):
                return Known(text[number])
    return UNKNOWN


def child(owner: Layer, index: Any, _node: ast.AST) -> Any:
    from surefit.evidence.imagined.values import new_layer

    if owner.kind == "ModuleDict":
        return (
            owner.children.get(str(index.value), UNKNOWN) if isinstance(index, Known) else UNKNOWN
        )
    children = tuple(owner.children.values())
    if isinstance(index, Sliced):
        part = picked(children, index, "list")
        if not isinstance(part, Listed) or part.items is None:
            return UNKNOWN
        made = new_layer(owner.kind, {}, owner.node)
        made.children.update({str(at): one for at, one in enumerate(part.items)})
        return made
    return picked(children, index, "list")


def picked(items: tuple[Any, ...], index: Any, kind: str) -> Any:
    number = whole(index)
    if number is not None:
        return items[number] if -len(items) <= number < len(items) else UNKNOWN
    if isinstance(index, Sliced):
        ends = slice_ends(index)
        return listed(kind, None if ends is None else items[slice(*ends)])
    if isinstance(index, Whole) and items and all(one is items[0] for one in items):
        return items[0]
    return UNKNOWN


def sizes_sliced(tensor: Tensor, index: Any) -> Any:
    from surefit.evidence.imagined.items import as_value

    ends = slice_ends(index) if isinstance(index, Sliced) else None
    if ends is None or tensor.shape.more:
        return UNKNOWN
    return listed("tuple", [as_value(one) for one in tensor.shape.sizes[slice(*ends)]])


Ends = tuple[int | None, int | None, int | None]


def slice_ends(index: Sliced) -> Ends | None:
    found: list[int | None] = []
    for one in (index.lower, index.upper, index.step):
        if isinstance(one, Known) and one.value is None:
            found.append(None)
        elif whole(one) is not None:
            found.append(whole(one))
        else:
            return None
    return found[0], found[1], found[2]


def indexed(run: "Run", tensor: Tensor, index: Any, node: ast.AST) -> Any:
    shape = indexed_shape(tensor.shape, index)
    made = reshaped_result(run, tensor, shape, node)
    if tensor.state.get("array"):
        made.state["array"] = True
    made.strides, made.cause = memory.after_index(tensor, index, shape, node)
    of_rows = isinstance(index, Tensor | Whole | Sliced) or whole(index) is not None
    all_there = tensor.everywhere or (bool(tensor.state.get("alike")) and of_rows)
    if not all_there and not is_whole_slice(index):
        made.low = made.high = None
    if made.shape.size(-1) != tensor.shape.size(-1) or not made.shape.sizes:
        made.by = None
    if made.shape.rank != 0:
        return made
    made.unreduced = None
    return made


def is_whole_slice(index: Any) -> bool:
    """`[None]`, `[:]`, `[..., None]`: everything stays."""
    parts = index.items if isinstance(index, Listed) and index.items is not None else (index,)
    return all(
        (isinstance(one, Known) and one.value in (None, ...))
        or (isinstance(one, Sliced) and slice_ends(one) == (None, None, None))
        for one in parts
    )


def indexed_shape(shape: Shape, index: Any) -> Shape:
    parts = (
        list(index.items)
        if isinstance(index, Listed) and index.kind == "tuple" and (index.items is not None)
        else [index]
    )
    plain = [one for one in parts if not (isinstance(one, Known) and one.value in (None, ...))]
    if len(parts) == 1 and isinstance(parts[0], Tensor):
        return by_tensor(shape, parts[0])
    if not all(is_simple(one) for one in parts):
        return ANY
    dots = [at for at, one in enumerate(parts) if isinstance(one, Known) and one.value is ...]
    if shape.more and (not dots or len(parts) - dots[0] - 1 > len(shape.sizes)):
        return ANY
    if not dots:
        parts.append(Known(...))
        dots = [len(parts) - 1]
    taken = len(plain)
    if not shape.more and taken > len(shape.sizes):
        return ANY
    behind = sum(not is_none(one) for one in parts[dots[0] + 1 :])
    before = taken - behind
    if shape.more and before:
        return ANY
    middle = shape.sizes[before : len(shape.sizes) - behind]
    sizes: list[Size] = []
    left = iter(shape.sizes[:before])
    for one in parts[: dots[0]]:
        sizes += part_size(one, left)
    sizes += middle
    right = iter(shape.sizes[len(shape.sizes) - behind :])
    for one in parts[dots[0] + 1 :]:
        sizes += part_size(one, right)
    return Shape(tuple(sizes), shape.more)


def is_simple(one: Any) -> bool:
    if isinstance(one, Whole | Sliced):
        return True
    return isinstance(one, Known) and (one.value in (None, ...) or type(one.value) is int)


def is_none(one: Any) -> bool:
    return isinstance(one, Known) and one.value is None


def part_size(one: Any, sizes: Any) -> list[Size]:
    """What one index leaves of its axis."""
    if is_none(one):
        return [1]
    size = next(sizes)
    if not isinstance(one, Sliced):
        return []
    if slice_ends(one) == (None, None, None):
        return [size]
    ends = slice_ends(one)
    return [None if ends is None else sliced(size, *ends)]


def by_tensor(shape: Shape, index: Tensor) -> Shape:
    if shape.more or index.shape.more or not shape.sizes:
        return ANY
    if index.dtype == "int64":
        return Shape((*index.shape.sizes, *shape.sizes[1:]))
    if index.dtype == "bool" and len(index.shape.sizes) <= len(shape.sizes):
        return Shape((None, *shape.sizes[len(index.shape.sizes) :]))
    return ANY


def row_of(run: "Run", tensor: Tensor) -> Tensor:
    """One of its rows, whichever."""
    shape = tensor.shape
    rest = ANY if shape.more else Shape(shape.sizes[1:])
    made = reshaped_result(run, tensor, rest, tensor.made or ast.Pass())
    made.made = tensor.made
    if not tensor.everywhere:
        made.low = made.high = None
    return made


def set_item(run: "Run", owner: Any, index: Any, value: Any, node: ast.Subscript) -> None:
    if isinstance(owner, Tensor):
        written(run, owner, run.source.parents.get(node, node), node.value)
        if not isinstance(value, Known | Whole):
            touched(run, owner)
    elif isinstance(owner, Mapped):
        items = owner.items
        if items is None or not isinstance(index, Known):
            run.set(owner.state, "items", None)
        else:
            run.set(owner.state, "items", {**items, index.value: value})
    elif isinstance(owner, Listed):
        number, several = whole(index), owner.items
        if several is None or number is None or not -len(several) <= number < len(several):
            run.set(owner.state, "items", None)
        else:
            changed = list(several)
            changed[number] = value
            run.set(owner.state, "items", tuple(changed))
    elif isinstance(owner, Layer):
        number = whole(index)
        if owner.kind in ("Sequential", "ModuleList") and number is not None:
            key = str(number if number >= 0 else number + len(owner.children))
            run.set(owner.children, key, value)
        else:
            run.escape(owner)
    elif isinstance(owner, Bound):
        run.escape(owner.to)  # `model._modules[name] = ...`


def parameters_picked(_run: "Run", node: Any, over: Parameters) -> Any:
    """`[p for p in model.parameters() if p.requires_grad]`; nothing is known of other picks."""
    loop = node.generators[0]
    target = loop.target
    if over.named and isinstance(target, ast.Tuple) and len(target.elts) == 2:
        target = target.elts[1]
    simple = isinstance(target, ast.Name) and ast.unparse(node.elt) == ast.unparse(target)
    tests = [ast.unparse(one) for one in loop.ifs]
    if not simple or any(one != f"{ast.unparse(target)}.requires_grad" for one in tests):
        return listed("list", None, node)
    if not tests or over.of is None:
        return Parameters(over.of, over.model)
    states = [one.state["trainable"] for one in over.of if isinstance(one, Layer)]
    if None in states or any(isinstance(one, Tensor) for one in over.of):
        return Parameters(None, over.model)
    kept = tuple(one for one in over.of if one.state["trainable"])
    return Parameters(kept, over.model)


def look_for_no_gradient(run: "Run", each: Each, node: ast.AST) -> None:
    """Computing with the gradients of all parameters, of which some surely have none."""
    model, holders = each.of.model, each.of.of
    if holders is None or model is None or not is_known_whole(model) or run.graphs.lost:
        return
    bare = tuple(
        one
        for one in holders
        if isinstance(one, Layer) and has_weights(one) and one.state["gradient"] is False
    )
    if bare and len(bare) < len(holders):
        run.mishap(NoGradient(node, None, bare))


def look_for_indivisible(run: "Run", test: ast.expr, scope: Scope, node: ast.AST) -> None:
    """`a % b` in a check of the script's own that surely fails."""
    for one in ast.walk(test):
        if not isinstance(one, ast.BinOp) or not isinstance(one.op, ast.Mod):
            continue
        left, right = run.ev(one.left, scope), run.ev(one.right, scope)
        have, among = whole(left), whole(right)
        if have is None or not among or have % among == 0:
            continue
        assert isinstance(left, Known)
        assert isinstance(right, Known)
        names = ast.unparse(one.left), ast.unparse(one.right)
        run.mishap(Indivisible(node, "", names[0], left, names[1], right))
        return
