"""Operations that reduce axes, choose among them, or pool over them."""

from surefit.interpreter.devices import INTEGRAL
from surefit.interpreter.graphs import operation_result
from surefit.interpreter.operation_calls import OperationCall
from surefit.interpreter.shapes import ANY, MISMATCH, SCALAR, Shape, Size, window_size
from surefit.interpreter.value_queries import Arguments, is_none, items_of, sequence
from surefit.interpreter.values import UNKNOWN, AbstractValue, Constant, TensorValue, integer_of

REDUCTIONS = {
    *("mean", "sum", "prod", "amax", "amin", "std", "var", "logsumexp", "norm", "nanmean"),
    *("median", "nansum"),
}
CHOICES = {"argmax", "argmin", "argsort", "isnan", "isfinite", "isinf", "all", "any", "sign"}


def axes_of(value: AbstractValue) -> list[int] | None:
    """Of `dim`; None where they are not known."""
    axes = [integer_of(item) for item in items_of(value) or (value,)]
    known = [axis for axis in axes if axis is not None]
    return known if len(known) == len(axes) else None


def reduced_shape(shape: Shape, arguments: Arguments, position: int) -> Shape:
    dim = arguments.get("dim", position, arguments.named.get("axis", Constant(None)))
    if is_none(dim):
        return SCALAR
    axes = axes_of(dim)
    keep = arguments.flag("keepdim", position + 1, False)
    if axes is None or keep is None:
        return ANY
    if not keep:
        return shape.without(axes)
    for axis in axes:
        shape = shape.with_size(axis, 1)
    return shape


def reduce_axes(call: OperationCall) -> TensorValue:
    tensor, arguments = call.tensor, call.arguments
    position = 2 if call.name == "norm" else 1
    shape = reduced_shape(tensor.shape, arguments, position)
    dtype = tensor.dtype
    if dtype in INTEGRAL:
        dtype = "int64" if call.name == "sum" else None
    keeps = call.name not in ("mean", "sum")
    result = operation_result(call.run, call.node, shape, [tensor], dtype, keeps=keeps)
    result.source_layer = tensor.source_layer
    if "dim" in arguments.named or len(arguments.positional) > position:
        same = shape.size(-1) == tensor.shape.size(-1)
        result.source_layer = tensor.source_layer if same else None
        result.unreduced = None
    return result


def choose(call: OperationCall) -> TensorValue:
    shape, dtype = call.tensor.shape, "int64" if call.name.startswith("arg") else "bool"
    if call.name in ("argmax", "argmin", "all", "any"):
        shape = reduced_shape(shape, call.arguments, 1)
    return call.without_graph(shape, call.tensor.dtype if call.name == "sign" else dtype)


def extremum(call: OperationCall) -> AbstractValue:
    dim = call.arguments.get("dim", 1, Constant(None))
    if is_none(dim):
        return call.result(SCALAR)
    if integer_of(dim) is None:
        return UNKNOWN
    shape = reduced_shape(call.tensor.shape, call.arguments, 1)
    return sequence("tuple", (call.result(shape), call.without_graph(shape, "int64")))


def pool2d(call: OperationCall) -> TensorValue:
    arguments, shape = call.arguments, call.tensor.shape
    if len(shape.sizes) < 2:
        return call.result(Shape((None, None), True))
    kernel = pair_of(arguments.get("kernel_size", 1, UNKNOWN))
    stride = pair_of(arguments.get("stride", 2, Constant(None))) or kernel
    padding = pair_of(arguments.get("padding", 3, Constant(0)))
    more = set(arguments.named) - {"kernel_size", "stride", "padding", "input"}
    sizes: list[Size] = [None, None]
    plain = not more and len(arguments.positional) <= 4 and not arguments.open
    if plain and kernel and stride and padding:
        for at in (0, 1):
            size = window_size(shape.size(at - 2), kernel[at], stride[at], padding[at])
            sizes[at] = None if size == MISMATCH else size
    return call.result(Shape((*shape.sizes[:-2], *sizes), shape.more))


def pair_of(value: AbstractValue) -> tuple[int, int] | None:
    sides = axes_of(value)
    if sides is None or len(sides) > 2:
        return None
    return sides[0], sides[-1]


def adaptive_pool2d(call: OperationCall) -> TensorValue:
    sides = pair_of(call.arguments.get("output_size", 1, UNKNOWN))
    shape = call.tensor.shape
    before = shape.sizes[:-2] if len(shape.sizes) >= 2 else ()
    return call.result(Shape((*before, *(sides or (None, None))), shape.more or not before))
