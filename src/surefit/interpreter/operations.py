"""Operations of torch on tensors, by their names: functions and methods alike."""

import ast
from collections.abc import Callable

from surefit.interpreter import elementwise, reductions, reshaping
from surefit.interpreter.backward import bump_version
from surefit.interpreter.devices import CASTS
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.joining import concatenate, linear, matmul
from surefit.interpreter.losses import LOSS_FUNCTIONS, compute_loss
from surefit.interpreter.operation_calls import OperationCall, cast_tensor
from surefit.interpreter.value_queries import Arguments, size_value
from surefit.interpreter.values import CPU, UNKNOWN, AbstractValue, DeviceValue, TensorValue

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
    if name in CASTS:
        return cast_tensor(run, tensor, CASTS[name], node)
    operation = OPERATIONS.get(name)
    if operation is not None:
        return operation(OperationCall(run, name, tensor, arguments, node))
    if name.endswith("_"):
        run.mark_modified(tensor)
    return UNKNOWN


OPERATIONS: dict[str, Callable[[OperationCall], AbstractValue]] = {
    **dict.fromkeys(reductions.REDUCTIONS, reductions.reduce_axes),
    **dict.fromkeys(reductions.CHOICES, reductions.choose),
    **dict.fromkeys(("max", "min"), reductions.extremum),
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
    "detach": elementwise.detach,
    "detach_": elementwise.detach_in_place,
    "item": elementwise.tensor_item,
    "requires_grad_": elementwise.requires_grad_,
    "embedding": elementwise.embedding,
    "one_hot": elementwise.one_hot,
    **dict.fromkeys(POOLS, reductions.pool),
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
