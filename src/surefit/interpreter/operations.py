"""Operations of torch on tensors, by their names: functions and methods alike."""

import ast
from collections.abc import Callable

from surefit.interpreter import elementwise, reshaping
from surefit.interpreter.backward import bump_version
from surefit.interpreter.devices import INTEGRAL
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.graphs import operation_result
from surefit.interpreter.joining import concatenate, linear, matmul
from surefit.interpreter.layer_calls import pooling_shape
from surefit.interpreter.layer_tables import ARGUMENTS
from surefit.interpreter.losses import LOSS_FUNCTIONS, compute_loss
from surefit.interpreter.operation_calls import OperationCall, cast_tensor
from surefit.interpreter.shapes import ANY, SCALAR, Shape
from surefit.interpreter.value_queries import Arguments, is_none, items_of, sequence, size_value
from surefit.interpreter.values import (
    CPU,
    UNKNOWN,
    AbstractValue,
    Constant,
    DeviceValue,
    LayerValue,
    TensorValue,
    integer_of,
)
from surefit.laws.operations.dtypes import CAST_BY

REDUCTIONS = {
    *("mean", "sum", "prod", "amax", "amin", "std", "var", "logsumexp", "norm", "nanmean"),
    *("median", "nansum"),
}
CHOICES = {"argmax", "argmin", "argsort", "isnan", "isfinite", "isinf", "all", "any", "sign"}


def reduced_shape(shape: Shape, arguments: Arguments, position: int) -> Shape:
    dim = arguments.get("dim", position, arguments.named.get("axis", Constant(None)))
    if is_none(dim):
        return SCALAR
    asked = [integer_of(item) for item in items_of(dim) or (dim,)]
    axes = [axis for axis in asked if axis is not None]
    keep = arguments.flag("keepdim", position + 1, False)
    if len(axes) != len(asked) or keep is None:
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


KEEPS_SHAPE = {
    *elementwise.KEEPS_RESULT,
    *("gelu", "silu", "elu", "selu", "leaky_relu", "softplus", "hardswish", "mish", "relu6"),
    *("dropout", "identity", "contiguous", "clone", "abs", "neg", "log", "square", "log1p"),
    *("clamp", "clip", "sin", "cos", "normalize", "cumsum", "flip", "roll", "nan_to_num"),
    *("layer_norm", "erf", "reciprocal", "logsigmoid", "celu", "dropout1d", "dropout2d"),
    *("tril", "triu", "expm1", "logit", "renorm", "alpha_dropout", "hardtanh"),
}
POOLS = ("max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "adaptive_max_pool2d")
JOINS = ("cat", "concat", "concatenate", "stack", "hstack", "vstack")


def operate(run: Evaluator, name: str, arguments: Arguments, node: ast.AST) -> AbstractValue:
    """An operation on the tensor that is its first argument; UNKNOWN where it is not followed."""
    tensor, out = arguments.get("input", 0, UNKNOWN), arguments.named.get("out")
    if isinstance(out, TensorValue):
        run.mark_modified(out)
        return UNKNOWN
    if name in LOSS_FUNCTIONS:
        return compute_loss(run, name, arguments, node, None)
    if name in JOINS:
        return concatenate(run, name, arguments, node)
    if name == "where":
        return elementwise.choose_where(run, arguments, node)
    if not isinstance(tensor, TensorValue):
        run.escape_all(arguments.values)
        return UNKNOWN
    if name in KEEPS_SHAPE:
        if arguments.flag("inplace", None, False):
            bump_version(run, tensor, node)
        return elementwise.same_shape(run, name, tensor, node)
    if name in CAST_BY:
        return cast_tensor(run, tensor, CAST_BY[name], node)
    operation = OPERATIONS.get(name)
    if operation is not None:
        return operation(OperationCall(run, name, tensor, arguments, node))
    if name.endswith("_"):
        run.mark_modified(tensor)
    return UNKNOWN


OPERATIONS: dict[str, Callable[[OperationCall], AbstractValue]] = {
    **dict.fromkeys(REDUCTIONS, reduce_axes),
    **dict.fromkeys(CHOICES, choose),
    **dict.fromkeys(("max", "min"), extremum),
    **dict.fromkeys(("view", "reshape"), reshaping.view),
    "flatten": reshaping.flatten,
    **dict.fromkeys(("transpose", "swapaxes", "swapdims", "t"), reshaping.transpose),
    "permute": reshaping.permute,
    "squeeze": reshaping.squeeze,
    "unsqueeze": reshaping.unsqueeze,
    "expand": reshaping.expand,
    **dict.fromkeys(("matmul", "mm", "bmm"), matmul),
    "linear": linear,
    "masked_fill": elementwise.masked_fill,
    "chunk": reshaping.chunk,
    "split": reshaping.split,
    "size": reshaping.tensor_size,
    **dict.fromkeys(("dim", "ndimension"), lambda call: size_value(call.tensor.shape.rank)),
    "numel": lambda call: size_value(call.tensor.shape.elements),
    **dict.fromkeys(("detach", "detach_", "item"), elementwise.detach),
    "requires_grad_": elementwise.requires_grad_,
    "embedding": elementwise.embedding,
    "one_hot": elementwise.one_hot,
    **dict.fromkeys(POOLS, pool),
    "to": elementwise.tensor_to,
    "cuda": lambda call: elementwise.moved(call, DeviceValue("cuda")),
    "cpu": lambda call: elementwise.moved(call, CPU),
    "glu": elementwise.glu,
    "pow": elementwise.power,
    **dict.fromkeys(
        ("zeros_like", "ones_like", "rand_like", "randn_like", "empty_like", "full_like"),
        elementwise.tensor_like,
    ),
}
