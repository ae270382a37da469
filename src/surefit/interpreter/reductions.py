"""Operations that reduce axes, choose among them, or pool over them."""

from surefit.interpreter.devices import INTEGRAL
from surefit.interpreter.graphs import operation_result
from surefit.interpreter.layer_calls import pooling_shape
from surefit.interpreter.layer_tables import ARGUMENTS
from surefit.interpreter.operation_calls import OperationCall
from surefit.interpreter.shapes import ANY, SCALAR, Shape
from surefit.interpreter.value_queries import Arguments, is_none, items_of, sequence
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    Constant,
    LayerValue,
    TensorValue,
    integer_of,
)

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


def pool(call: OperationCall) -> TensorValue:
    """As the layer does it: `max_pool2d` is `MaxPool2d`."""
    kind = "".join(word.capitalize() for word in call.name.split("_"))
    named = zip(ARGUMENTS[kind], call.arguments.positional[1:], strict=False)
    settings = {**dict(named), **call.arguments.named}
    if call.arguments.open:
        settings["open"] = UNKNOWN
    settings.pop("input", None)
    shape = pooling_shape(LayerValue(kind, settings, call.node), call.tensor.shape)
    return call.result(shape or Shape((None,) * int(kind[-2]), True))
