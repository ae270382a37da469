"""Operations of torch on tensors, by their names: functions and methods alike."""

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from surefit.evidence.imagined import memory
from surefit.evidence.imagined.given import Given
from surefit.evidence.imagined.graphs import cut_off, derived, graph_of, touched
from surefit.evidence.imagined.mishaps import (
    JoinMisfit,
    LeafWritten,
    LossMisfit,
    MaskMisfit,
    ProductMisfit,
    ReshapeMisfit,
    ViewOfGaps,
)
from surefit.evidence.imagined.shapes import (
    ANY,
    MISFIT,
    SCALAR,
    Shape,
    Size,
    broadcast,
    meet,
    product,
    reshaped,
    single,
    windowed,
)
from surefit.evidence.imagined.values import (
    UNKNOWN,
    Device,
    External,
    Known,
    Layer,
    Tensor,
    Unknown,
    Whole,
    listed,
    members,
    shape_given,
    whole,
)

if TYPE_CHECKING:
    from surefit.evidence.imagined.running import Run

KEEPS_RESULT = {"sigmoid", "tanh", "exp", "softmax", "log_softmax", "sqrt", "relu", "rsqrt"}
SAME = {
    *KEEPS_RESULT,
    *("gelu", "silu", "elu", "selu", "leaky_relu", "softplus", "hardswish", "mish", "relu6"),
    *("dropout", "identity", "contiguous", "clone", "abs", "neg", "log", "square", "log1p"),
    *("clamp", "clip", "sin", "cos", "normalize", "cumsum", "flip", "roll", "nan_to_num"),
    *("layer_norm", "erf", "reciprocal", "logsigmoid", "celu", "dropout1d", "dropout2d"),
    *("tril", "triu", "expm1", "logit", "renorm", "alpha_dropout", "hardtanh", "glu_same"),
}
CASTS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "bool": "bool",
}
REDUCES = {
    *("mean", "sum", "prod", "amax", "amin", "std", "var", "logsumexp", "norm", "nanmean"),
    *("median", "nansum"),
}
CHOOSES = {"argmax", "argmin", "argsort", "isnan", "isfinite", "isinf", "all", "any", "sign"}
FLOATS = ("float16", "bfloat16", "float32", "float64")
NO_GRAPH = ("int64", "int32", "bool", "uint8", "int16", "int8")

ELEMENTWISE_LOSSES = {
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "kl_div",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "poisson_nll_loss",
}
LOSSES = {*ELEMENTWISE_LOSSES, "cross_entropy", "nll_loss"}

Operation = Callable[["Run", Tensor, Given, ast.AST], Any]


def operate(run: "Run", name: str, given: Given, node: ast.AST) -> Any:
    """An operation on the tensor that is its first argument; UNKNOWN where it is not followed."""
    first = given.get("input", 0, UNKNOWN)
    if isinstance(given.named.get("out"), Tensor):
        touched(run, given.named["out"])
        return UNKNOWN
    if name in LOSSES:
        return loss(run, name, given, node, None)
    if name in ("cat", "concat", "concatenate", "stack", "hstack", "vstack"):
        return together(run, name, given, node)
    if name == "where":
        return where(run, given, node)
    if not isinstance(first, Tensor):
        for one in given.all:
            run.escape(one)
        return UNKNOWN
    if name in SAME:
        if given.flag("inplace", None, False):
            written_in_place(run, first, node)
        return same_shape(run, name, first, node)
    if name in CASTS:
        return cast(run, first, CASTS[name], node)
    if name in REDUCES:
        return reduced(run, name, first, given, node)
    if name in CHOOSES:
        return chosen(run, name, first, given, node)
    if name in ("max", "min"):
        return largest(run, first, given, node)
    found = OTHERS.get(name)
    if found is None and name.endswith("_"):
        touched(run, first)
    return found(run, first, given, node) if found else UNKNOWN


def same_shape(run: "Run", name: str, tensor: Tensor, node: ast.AST) -> Tensor:
    keeps = name not in ("contiguous", "identity", "clone", "dropout", "neg", "cumsum", "flip")
    made = derived(
        run,
        node,
        tensor.shape,
        [tensor],
        tensor.dtype,
        keeps=keeps,
        keeps_result=name in KEEPS_RESULT,
    )
    made.by, made.unreduced = tensor.by, tensor.unreduced
    if name in ("contiguous", "clone", "identity"):
        copy_numbers(tensor, made)
    if name == "contiguous":
        made.strides = memory.in_order(made.shape)
    elif name == "identity":
        made.strides, made.cause = tensor.strides, tensor.cause
    return made


def copy_numbers(tensor: Tensor, made: Tensor) -> None:
    made.low, made.high = tensor.low, tensor.high
    made.counts, made.everywhere = tensor.counts, tensor.everywhere
    made.padding = tensor.padding


def reshaped_result(run: "Run", tensor: Tensor, shape: Shape, node: ast.AST) -> Tensor:
    """The same numbers in another shape."""
    made = derived(run, node, shape, [tensor], tensor.dtype, keeps=False)
    made.by, made.unreduced = tensor.by, tensor.unreduced
    made.state["base"] = tensor
    copy_numbers(tensor, made)
    return made


def cast(run: "Run", tensor: Tensor, dtype: str | None, node: ast.AST) -> Tensor:
    if dtype in NO_GRAPH:
        made = cut_off(run, tensor, node, tensor.shape, dtype)
    else:
        made = derived(run, node, tensor.shape, [tensor], dtype, keeps=False)
        made.by, made.unreduced = tensor.by, tensor.unreduced
    copy_numbers(tensor, made)
    if dtype in ("bool", "uint8"):
        made.low = made.high = None
    return made


def axes_given(value: Any) -> list[int] | None:
    """Of `dim`; None where they are not known."""
    several = members(value)
    if several is not None:
        numbers = [whole(one) for one in several]
        return None if None in numbers else [one for one in numbers if one is not None]
    number = whole(value)
    return None if number is None else [number]


def reduced(run: "Run", name: str, tensor: Tensor, given: Given, node: ast.AST) -> Any:
    position = 2 if name == "norm" else 1
    shape = reduced_shape(tensor.shape, given, position)
    dtype = tensor.dtype
    if dtype in NO_GRAPH:
        dtype = "int64" if name == "sum" else None
    made = derived(run, node, shape, [tensor], dtype, keeps=name not in ("mean", "sum"))
    made.by = tensor.by
    if "dim" in given.named or len(given.plain) > position:
        made.by = tensor.by if shape.size(-1) == tensor.shape.size(-1) else None
        made.unreduced = None
    return made


def reduced_shape(shape: Shape, given: Given, position: int) -> Shape:
    dim = given.get("dim", position, given.named.get("axis", Known(None)))
    if isinstance(dim, Known) and dim.value is None:
        return SCALAR
    axes = axes_given(dim)
    keep = given.flag("keepdim", position + 1, False)
    if axes is None or keep is None:
        return ANY
    if keep:
        for axis in axes:
            shape = shape.with_size(axis, 1)
        return shape
    return shape.without(axes)


def chosen(run: "Run", name: str, tensor: Tensor, given: Given, node: ast.AST) -> Tensor:
    if name in ("argmax", "argmin", "all", "any"):
        shape = reduced_shape(tensor.shape, given, 1)
    else:
        shape = tensor.shape
    dtype = "int64" if name.startswith("arg") else "bool"
    return cut_off(run, tensor, node, shape, tensor.dtype if name == "sign" else dtype)


def largest(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    second = given.get("dim", 1, Known(None))
    if isinstance(second, Known) and second.value is None:
        return derived(run, node, SCALAR, [tensor], tensor.dtype)
    if whole(second) is None:
        return UNKNOWN
    shape = reduced_shape(tensor.shape, given, 1)
    values = derived(run, node, shape, [tensor], tensor.dtype)
    return listed("tuple", (values, cut_off(run, tensor, node, shape, "int64")))


def view(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    target = shape_given(given.plain[1:])
    if given.open or target is None or not given.plain[1:]:
        if "shape" in given.named and not given.plain[1:]:
            target = shape_given([given.named["shape"]])
        if given.open or target is None:
            return reshaped_result(run, tensor, ANY, node)
    is_view = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".view")
    if is_view and memory.cannot_view(tensor, target) and tensor.cause is not None:
        run.mishap(ViewOfGaps(node, tensor, tensor.cause))  # type: ignore[arg-type]
    shape = reshaped(tensor.shape, target)
    if shape is None and isinstance(node, ast.Call):
        run.mishap(ReshapeMisfit(node, tensor, target))
        shape = Shape(tuple(None if one == -1 else one for one in target))
    made = reshaped_result(run, tensor, shape or ANY, node)
    made.by = tensor.by if made.shape.size(-1) == tensor.shape.size(-1) else None
    if tensor.strides is not None and tensor.cause is None:
        made.strides = memory.in_order(made.shape)
    return made


def flatten(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    start, stop = given.number("start_dim", 1, 0), given.number("end_dim", 2, -1)
    made = reshaped_result(run, tensor, flattened(tensor.shape, start, stop) or ANY, node)
    made.by = tensor.by if made.shape.size(-1) == tensor.shape.size(-1) else None
    return made


def flattened(shape: Shape, start: int | None, stop: int | None) -> Shape | None:
    if start is None or stop is None:
        return ANY
    if shape.more:
        return ANY
    first, last = shape.place(start), shape.place(stop)
    if not shape.sizes and start in (0, -1):
        return Shape((1,))
    if first is None or last is None or first > last:
        return ANY
    between = single(product(shape.sizes[first : last + 1]))
    return Shape((*shape.sizes[:first], between, *shape.sizes[last + 1 :]))


def transpose(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    one, other = given.number("dim0", 1, None), given.number("dim1", 2, None)
    if len(given.plain) == 1 and not given.named:  # `.t()`
        one, other = -1, -2
    if one is None or other is None:
        return reshaped_result(run, tensor, ANY, node)
    return transposed(run, tensor, one, other, node)


def transposed(run: "Run", tensor: Tensor, one: int, other: int, node: ast.AST) -> Tensor:
    shape = tensor.shape
    first, second = shape.place(one), shape.place(other)
    if first is None or second is None:
        made = reshaped_result(run, tensor, ANY, node)
    else:
        sizes = list(shape.sizes)
        sizes[first], sizes[second] = sizes[second], sizes[first]
        made = reshaped_result(run, tensor, Shape(tuple(sizes), shape.more), node)
        order = list(range(len(sizes)))
        order[first], order[second] = order[second], order[first]
        made.strides, made.cause = memory.after_turn(tensor, tuple(order), node)
    made.by = None
    return made


def permute(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    order = shape_given(given.plain[1:]) or (
        shape_given([given.named["dims"]]) if "dims" in given.named else None
    )
    shape = tensor.shape
    known = order is not None and not shape.more and len(order) == len(shape.sizes)
    places = [shape.place(one) for one in order or () if isinstance(one, int)]
    if not known or None in places or len(places) != len(shape.sizes):
        made = reshaped_result(run, tensor, Shape((None,) * len(order)) if order else ANY, node)
    else:
        sizes = tuple(shape.sizes[at] for at in places if at is not None)
        made = reshaped_result(run, tensor, Shape(sizes), node)
        order = tuple(at for at in places if at is not None)
        made.strides, made.cause = memory.after_turn(tensor, order, node)
    made.by = None
    return made


def squeeze(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    axis = given.number("dim", 1, None)
    asked = len(given.plain) > 1 or "dim" in given.named
    shape = tensor.shape
    if not asked or axis is None or not shape.has(axis):
        known = not asked and not shape.more and all(isinstance(one, int) for one in shape.sizes)
        result = Shape(tuple(one for one in shape.sizes if one != 1)) if known else ANY
    elif isinstance(shape.size(axis), int):
        result = shape.without([axis]) if shape.size(axis) == 1 else shape
    else:
        result = ANY
    made = reshaped_result(run, tensor, result, node)
    made.by = None
    return made


def unsqueeze(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    axis = given.number("dim", 1, None)
    shape = tensor.shape
    result = ANY
    if axis is not None:
        at = axis + len(shape.sizes) + 1 if axis < 0 else axis
        if (axis < 0 or not shape.more) and 0 <= at <= len(shape.sizes):
            result = Shape((*shape.sizes[:at], 1, *shape.sizes[at:]), shape.more)
    made = reshaped_result(run, tensor, result, node)
    made.by = tensor.by if result.size(-1) == shape.size(-1) else None
    return made


def expand(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    target = shape_given(given.plain[1:])
    if target is None:
        return reshaped_result(run, tensor, ANY, node)
    sizes: list[Size] = []
    for at, size in enumerate(target):
        axis = at - len(target)
        sizes.append(tensor.shape.size(axis) if size == -1 else size)
    made = reshaped_result(run, tensor, Shape(tuple(sizes)), node)
    made.state["alike"] = tensor.shape.rank is not None and len(target) > tensor.shape.rank
    return made


def matmul(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    other = given.get("other", 1, given.named.get("mat2", UNKNOWN))
    if not isinstance(other, Tensor):
        return UNKNOWN
    nodes = given.nodes.get(0, node), given.nodes.get(1, given.nodes.get("other", node))
    return multiplied(run, tensor, other, nodes, node)


def multiplied(
    run: "Run", left: Tensor, right: Tensor, nodes: tuple[ast.AST, ast.AST], node: ast.AST
) -> Any:
    one, other = left.shape, right.shape
    ranks = [one.rank, other.rank]
    if any(rank is not None and rank < 2 for rank in ranks):
        return derived(run, node, ANY, [left, right], left.dtype)
    if not (one.has(-1) and other.has(-1)) or len(other.sizes) < 2:
        return derived(run, node, ANY, [left, right], left.dtype)
    inner, outer = one.size(-1), other.size(-2)
    if isinstance(inner, int) and isinstance(outer, int) and inner != outer:
        run.mishap(ProductMisfit(node, (left, right), nodes))
        return derived(run, node, ANY, [left, right], left.dtype)
    if len(one.sizes) < 2:
        shape = Shape((None, other.size(-1)), True)
    else:
        before = (
            broadcast(Shape(one.sizes[:-2], one.more), Shape(other.sizes[:-2], other.more)) or ANY
        )
        shape = Shape((*before.sizes, one.size(-2), other.size(-1)), before.more)
    made = derived(run, node, shape, [left, right], left.dtype, nodes=nodes)
    made.strides = memory.in_order(shape)
    return made


def masked_fill(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    mask = given.get("mask", 1, UNKNOWN)
    if isinstance(mask, Tensor):
        if broadcast(tensor.shape, mask.shape) is None:
            where_ = given.nodes.get("mask") or given.nodes.get(1) or node
            run.mishap(MaskMisfit(node, tensor, mask, where_))
        nodes = [given.nodes.get(0), given.nodes.get("mask") or given.nodes.get(1)]
        made = derived(run, node, tensor.shape, [tensor, mask], tensor.dtype, nodes=nodes)
        made.graph = tensor.graph
    else:
        made = derived(run, node, tensor.shape, [tensor], tensor.dtype)
    made.by = tensor.by
    return made


def where(run: "Run", given: Given, node: ast.AST) -> Any:
    tensors = [one for one in given.plain if isinstance(one, Tensor)]
    if len(given.plain) != 3 or any(isinstance(one, Unknown) for one in given.plain):
        return UNKNOWN
    shape: Shape = SCALAR
    for one in tensors:
        shape = broadcast(shape, one.shape) or ANY
    return derived(run, node, shape, tensors[-2:], None)


def together(run: "Run", name: str, given: Given, node: ast.AST) -> Any:
    parts = members(given.get("tensors", 0, UNKNOWN))
    if parts is None or not parts or not all(isinstance(one, Tensor) for one in parts):
        return unknown_of(run, parts, node)
    nodes = part_nodes(given, parts, node)
    axis = given.number("dim", 1, None)
    if axis is None and "dim" not in given.named and len(given.plain) < 2:
        axis = whole(given.named.get("axis", Known(0)))
    if name in ("hstack", "vstack") or axis is None:
        return derived(run, node, ANY, parts, parts[0].dtype)
    shape = parts[0].shape
    for at, one in enumerate(parts[1:], start=1):
        if name == "stack":
            shape = alike(run, shape, one, (parts[0], nodes[0], nodes[at]), node, None, name)
        else:
            shape = alike(run, shape, one, (parts[0], nodes[0], nodes[at]), node, axis, name)
    if name == "stack":
        at = axis + len(shape.sizes) + 1 if axis < 0 else axis
        known = (not shape.more or axis < 0) and 0 <= at <= len(shape.sizes)
        sizes = (*shape.sizes[:at], len(parts), *shape.sizes[at:])
        shape = Shape(sizes, shape.more) if known else ANY
    made = derived(run, node, shape, parts, parts[0].dtype, keeps=False, nodes=nodes)
    made.strides = memory.in_order(shape)
    return made


def unknown_of(run: "Run", parts: Any, node: ast.AST) -> Any:
    """A graph is there if one part has one; everything else is not known."""
    if parts and any(isinstance(one, Tensor) and one.graph for one in parts):
        tensors = [one for one in parts if isinstance(one, Tensor)]
        return derived(run, node, ANY, tensors, None, keeps=False)
    return UNKNOWN


def part_nodes(given: Given, parts: tuple[Any, ...], node: ast.AST) -> list[ast.AST]:
    written = given.nodes.get("tensors") or given.nodes.get(0)
    if isinstance(written, ast.List | ast.Tuple) and len(written.elts) == len(parts):
        return list(written.elts)
    return [one.made or node for one in parts]


def alike(
    run: "Run",
    shape: Shape,
    tensor: Tensor,
    about: tuple[Tensor, ast.AST, ast.AST],
    node: ast.AST,
    axis: int | None,
    how: str,
) -> Shape:
    """The shape of what is joined along an axis; all others must be equal."""
    first, first_node, other_node = about
    one, other = shape, tensor.shape
    same = not one.more and not other.more and len(one.sizes) == len(other.sizes)
    if not same:
        length = min(len(one.sizes), len(other.sizes))
        if axis is not None and axis >= 0:
            return ANY
        one, other = Shape(one.sizes[-length:], True), Shape(other.sizes[-length:], True)
        if not length:
            return ANY
    joined_at = None if axis is None else one.place(axis)
    if axis is not None and joined_at is None:
        return ANY
    sizes: list[Size] = []
    for at, (left, right) in enumerate(zip(one.sizes, other.sizes, strict=True)):
        if at == joined_at:
            known = isinstance(left, int) and isinstance(right, int)
            sizes.append(left + right if known else None)  # type: ignore[operator]
        elif isinstance(left, int) and isinstance(right, int) and left != right:
            run.mishap(
                JoinMisfit(
                    node, how, (first, tensor), (first_node, other_node), at - len(one.sizes)
                )
            )
            return ANY
        else:
            sizes.append(left if isinstance(left, int) or left == right else right)
    return Shape(tuple(sizes), one.more)


def added(
    run: "Run",
    left: Tensor,
    right: Tensor,
    nodes: tuple[ast.AST, ast.AST],
    node: ast.AST,
    dtype: str | None,
    keeps: bool,
) -> Tensor:
    shape = broadcast(left.shape, right.shape)
    if shape is None:
        axis = next(
            one for one in range(-1, -99, -1) if meet(left.shape, right.shape, one) == MISFIT
        )
        run.mishap(JoinMisfit(node, "sum", (left, right), nodes, axis))
    made = derived(run, node, shape or ANY, [left, right], dtype, keeps=keeps, nodes=nodes)
    made.unreduced = left.unreduced or right.unreduced
    wide = [one for one in (right, left) if one.shape.size(-1) == made.shape.size(-1)]
    made.by = next((one.by for one in wide if one.by is not None), None)
    return made


def chunk(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    count = given.number("chunks", 1, None)
    axis = given.number("dim", 2, 0)
    if count is None or axis is None or count > 16:
        return UNKNOWN
    size = tensor.shape.size(axis)
    if not tensor.shape.has(axis):
        shape = ANY
    elif isinstance(size, int) and size % count == 0:
        shape = tensor.shape.with_size(axis, size // count)
    else:
        shape = tensor.shape.with_size(axis, None)
    parts = [reshaped_result(run, tensor, shape, node) for _ in range(count)]
    for one in parts:
        one.by = None
    return listed("tuple", parts)


def split(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    size = given.number("split_size_or_sections", 1, None)
    size = given.number("split_size", 1, None) if size is None else size
    axis = given.number("dim", 2, 0)
    have = tensor.shape.size(axis) if axis is not None else None
    if size is None or axis is None or not size:
        return UNKNOWN
    if not isinstance(have, int):
        return listed("tuple", None)
    sizes = [min(size, have - at) for at in range(0, have, size)]
    if len(sizes) > 16:
        return UNKNOWN
    parts = [reshaped_result(run, tensor, tensor.shape.with_size(axis, one), node) for one in sizes]
    for one in parts:
        one.by = None
        if not one.everywhere:
            one.low = one.high = None
    return listed("tuple", parts)


def size(_run: "Run", tensor: Tensor, given: Given, _node: ast.AST) -> Any:
    from surefit.evidence.imagined.items import SizesOf, as_value

    if len(given.plain) == 1 and not given.named:
        return SizesOf(tensor)
    axis = given.number("dim", 1, None)
    return Whole() if axis is None else as_value(tensor.shape.size(axis))


def rank(_run: "Run", tensor: Tensor, _given: Given, _node: ast.AST) -> Any:
    return Whole() if tensor.shape.rank is None else Known(tensor.shape.rank)


def numel(_run: "Run", tensor: Tensor, _given: Given, _node: ast.AST) -> Any:
    count = tensor.shape.elements
    return Whole() if count is None else Known(count)


def detach(run: "Run", tensor: Tensor, _given: Given, node: ast.AST) -> Any:
    made = cut_off(run, tensor, node, tensor.shape, tensor.dtype)
    copy_numbers(tensor, made)
    made.unreduced = tensor.unreduced
    return made


def detached_in_place(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    run.set(tensor.state, "switched", True)
    return detach(run, tensor, given, node)


def item(run: "Run", tensor: Tensor, _given: Given, node: ast.AST) -> Any:
    return cut_off(run, tensor, node, SCALAR, None) if graph_of(tensor) else UNKNOWN


def requires_grad_(run: "Run", tensor: Tensor, given: Given, _node: ast.AST) -> Any:
    run.set(tensor.state, "switched", True)
    layer = tensor.state.get("layer")
    if isinstance(layer, Layer):
        run.set(layer.state, "trainable", None)
    if tensor.state.get("registered") or tensor.graph is not False:
        return tensor
    flag = given.flag("requires_grad", 1, True)
    if flag:
        made = replace(tensor, graph=True, leaf=True, state={**tensor.state, "version": 0})
        return made
    return tensor


def embedding(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    weight = given.get("weight", 1, UNKNOWN)
    width = weight.shape.size(-1) if isinstance(weight, Tensor) else None
    return derived(
        run,
        node,
        Shape((*tensor.shape.sizes, width), tensor.shape.more),
        [weight] if isinstance(weight, Tensor) else [Tensor(ANY)],
        None,
    )


def one_hot(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    width = given.number("num_classes", 1, None)
    width = None if width == -1 else width
    shape = Shape((*tensor.shape.sizes, width), tensor.shape.more)
    return cut_off(run, tensor, node, shape, "int64")


def pool2d(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    kernel = pair(given.get("kernel_size", 1, UNKNOWN))
    stride = pair(given.get("stride", 2, Known(None))) or kernel
    padding = pair(given.get("padding", 3, Known(0)))
    shape = tensor.shape
    if len(shape.sizes) < 2:
        return derived(run, node, Shape((None, None), True), [tensor], tensor.dtype)
    odd = set(given.named) - {"kernel_size", "stride", "padding", "input"} or len(given.plain) > 4
    sizes: list[Size] = [None, None]
    if kernel and stride and padding and not odd and not given.open:
        for at in (0, 1):
            got = windowed(shape.size(at - 2), kernel[at], stride[at], padding[at])
            sizes[at] = None if got == MISFIT else got
    made = derived(
        run, node, Shape((*shape.sizes[:-2], *sizes), shape.more), [tensor], tensor.dtype
    )
    return made


def pair(value: Any) -> tuple[int, int] | None:
    several = members(value)
    if several is not None and len(several) == 2:
        one, other = whole(several[0]), whole(several[1])
        return (one, other) if one is not None and other is not None else None
    number = whole(value)
    return None if number is None else (number, number)


def adaptive_pool2d(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    size_ = pair(given.get("output_size", 1, UNKNOWN))
    before = tensor.shape.sizes[:-2] if len(tensor.shape.sizes) >= 2 else ()
    shape = Shape((*before, *(size_ or (None, None))), tensor.shape.more or not before)
    return derived(run, node, shape, [tensor], tensor.dtype)


def linear(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    weight = given.get("weight", 1, UNKNOWN)
    if not isinstance(weight, Tensor):
        return UNKNOWN
    width = weight.shape.size(0) if weight.shape.rank == 2 else None
    shape = Shape((*tensor.shape.sizes[:-1], width), tensor.shape.more)
    return derived(run, node, shape, [tensor, weight], None)


def tensor_to(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    device, dtype = where_to(given.after_first())
    made = cast(run, tensor, dtype, node) if dtype else copied(run, tensor, node)
    if dtype == "":
        made.dtype = None
    if device is not None:
        made.state["device"] = None if isinstance(device, Unknown) else device
    return made


def copied(run: "Run", tensor: Tensor, node: ast.AST) -> Tensor:
    made = derived(run, node, tensor.shape, [tensor], tensor.dtype, keeps=False)
    made.by, made.unreduced = tensor.by, tensor.unreduced
    copy_numbers(tensor, made)
    return made


def where_to(given: Given) -> tuple[Any, str | None]:
    """Device and dtype of `.to(...)`: None is "as it was", UNKNOWN and "" are not known."""
    device: Any = None
    dtype: str | None = None
    for name, one in [*((None, one) for one in given.plain), *given.named.items()]:
        if name in ("non_blocking", "copy", "memory_format"):
            continue
        if isinstance(one, External) and one.name.startswith("torch."):
            dtype = dtype_named(one) or dtype
        elif isinstance(one, Device) or one == "cpu":
            device = one
        elif isinstance(one, Known) and isinstance(one.value, str):
            device = device_named(one.value)
        elif isinstance(one, Known) and isinstance(one.value, bool):
            continue
        elif isinstance(one, Known) and type(one.value) is int:
            device = Device(str(one.value))
        elif name == "dtype":
            dtype = ""
        elif name == "device":
            device = UNKNOWN
        elif isinstance(one, Tensor):
            device, dtype = one.state.get("device") or UNKNOWN, one.dtype or ""
        else:
            device, dtype = UNKNOWN, ""
    return device, dtype


def device_named(text: str) -> Any:
    return "cpu" if text == "cpu" else Device(text)


DTYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "long": "int64",
    "int": "int32",
}


def dtype_named(value: Any) -> str | None:
    if not isinstance(value, External) or not value.name.startswith("torch."):
        return None
    name = value.name.removeprefix("torch.")
    name = DTYPES.get(name, name)
    return name if name in (*FLOATS, *NO_GRAPH) else None


def moved_to_gpu(run: "Run", tensor: Tensor, _given: Given, node: ast.AST) -> Any:
    made = copied(run, tensor, node)
    made.state["device"] = Device("cuda")
    return made


def moved_to_cpu(run: "Run", tensor: Tensor, _given: Given, node: ast.AST) -> Any:
    made = copied(run, tensor, node)
    made.state["device"] = "cpu"
    return made


def power(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    if not isinstance(given.get("exponent", 1, UNKNOWN), Known):
        return derived(run, node, ANY, [tensor, Tensor(ANY)], None)
    return same_shape(run, "pow", tensor, node)


def glu(run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    axis = given.number("dim", 1, -1)
    have = tensor.shape.size(axis) if axis is not None else None
    half = have // 2 if isinstance(have, int) else None
    shape = tensor.shape.with_size(axis, half) if axis is not None else ANY
    return derived(run, node, shape, [tensor], tensor.dtype)


def like(_run: "Run", tensor: Tensor, given: Given, node: ast.AST) -> Any:
    dtype = dtype_named(given.named["dtype"]) if "dtype" in given.named else tensor.dtype
    made = Tensor(tensor.shape, dtype, graph=False, made=node)
    made.state["device"] = None if "device" in given.named else tensor.state.get("device")
    return made


def loss(run: "Run", name: str, given: Given, node: ast.AST, layer: Layer | None) -> Any:
    first, second = given.get("input", 0, UNKNOWN), given.get("target", 1, UNKNOWN)
    pair_ = (first, second)
    tensors = tuple(one if isinstance(one, Tensor) else Tensor(ANY, graph=None) for one in pair_)
    nodes = (
        given.nodes.get("input") or given.nodes.get(0) or node,
        given.nodes.get("target") or given.nodes.get(1) or node,
    )
    reduction = given.get("reduction", None, Known("mean"))
    if name in ELEMENTWISE_LOSSES and broadcast(tensors[0].shape, tensors[1].shape) is None:
        run.mishap(LossMisfit(node, name, (tensors[0], tensors[1]), nodes))
    if any(key in given.named for key in ("size_average", "reduce")) or given.open:
        reduction = UNKNOWN
    if not isinstance(reduction, Known):
        made = derived(run, node, ANY, tensors, None)
        return made
    if reduction.value != "none":
        return derived(run, node, SCALAR, tensors, None, nodes=nodes)
    if name in ELEMENTWISE_LOSSES:
        shape = broadcast(tensors[0].shape, tensors[1].shape) or ANY
    else:
        shape = tensors[1].shape
    made = derived(run, node, shape, tensors, None, nodes=nodes)
    made.unreduced = layer.node if layer is not None else node
    if shape.rank == 0:
        made.unreduced = None
    return made


def written_in_place(run: "Run", tensor: Tensor, node: ast.AST) -> None:
    run.set(tensor.state, "version", tensor.state["version"] + 1)
    run.set(tensor.state, "written", node)
    tensor.low = tensor.high = None


def written(run: "Run", tensor: Tensor, node: ast.AST, target: ast.AST) -> None:
    """In place, as a statement or a method with `_` behind its name does it."""
    if tensor.leaf and tensor.graph is True and run.graphs.recording is True:
        if not tensor.state.get("asked") and not tensor.state.get("switched"):
            run.mishap(LeafWritten(node, target, tensor))
        return
    written_in_place(run, tensor, node)


OTHERS: dict[str, Operation] = {
    "view": view,
    "reshape": view,
    "flatten": flatten,
    "transpose": transpose,
    "swapaxes": transpose,
    "swapdims": transpose,
    "t": transpose,
    "permute": permute,
    "squeeze": squeeze,
    "unsqueeze": unsqueeze,
    "expand": expand,
    "matmul": matmul,
    "mm": matmul,
    "bmm": matmul,
    "masked_fill": masked_fill,
    "chunk": chunk,
    "split": split,
    "size": size,
    "dim": rank,
    "ndimension": rank,
    "numel": numel,
    "detach": detach,
    "detach_": detached_in_place,
    "item": item,
    "requires_grad_": requires_grad_,
    "embedding": embedding,
    "one_hot": one_hot,
    "max_pool2d": pool2d,
    "avg_pool2d": pool2d,
    "adaptive_avg_pool2d": adaptive_pool2d,
    "adaptive_max_pool2d": adaptive_pool2d,
    "linear": linear,
    "to": tensor_to,
    "cuda": moved_to_gpu,
    "cpu": moved_to_cpu,
    "glu": glu,
    "pow": power,
    "zeros_like": like,
    "ones_like": like,
    "rand_like": like,
    "randn_like": like,
    "empty_like": like,
    "full_like": like,
}
