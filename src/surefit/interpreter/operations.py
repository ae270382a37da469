"""Operations of torch on tensors, by their names: functions and methods alike."""

import ast
from collections.abc import Callable

from surefit.interpreter.arguments import Arguments
from surefit.interpreter.backward import bump_version
from surefit.interpreter.devices import move_to_cpu, move_to_gpu, tensor_to
from surefit.interpreter.dtypes import CASTS
from surefit.interpreter.elementwise import (
    KEEPS_RESULT,
    choose_where,
    detach,
    detach_in_place,
    embedding,
    glu,
    masked_fill,
    one_hot,
    power,
    requires_grad_,
    same_shape,
    tensor_item,
    tensor_like,
)
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.joining import concatenate, linear, matmul
from surefit.interpreter.losses import LOSS_FUNCTIONS, compute_loss
from surefit.interpreter.operation_calls import OperationCall, cast_tensor
from surefit.interpreter.reductions import (
    CHOICES,
    REDUCTIONS,
    adaptive_pool2d,
    choose,
    extremum,
    pool2d,
    reduce_axes,
)
from surefit.interpreter.reshaping import (
    chunk,
    expand,
    flatten,
    numel,
    permute,
    split,
    squeeze,
    tensor_rank,
    tensor_size,
    transpose,
    unsqueeze,
    view,
)
from surefit.interpreter.values import UNKNOWN, AbstractValue, TensorValue

KEEPS_SHAPE = {
    *KEEPS_RESULT,
    *("gelu", "silu", "elu", "selu", "leaky_relu", "softplus", "hardswish", "mish", "relu6"),
    *("dropout", "identity", "contiguous", "clone", "abs", "neg", "log", "square", "log1p"),
    *("clamp", "clip", "sin", "cos", "normalize", "cumsum", "flip", "roll", "nan_to_num"),
    *("layer_norm", "erf", "reciprocal", "logsigmoid", "celu", "dropout1d", "dropout2d"),
    *("tril", "triu", "expm1", "logit", "renorm", "alpha_dropout", "hardtanh"),
}
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
        return choose_where(run, arguments, node)
    if not isinstance(tensor, TensorValue):
        run.escape_all(arguments.values)
        return UNKNOWN
    if name in KEEPS_SHAPE:
        if arguments.flag("inplace", None, False):
            bump_version(run, tensor, node)
        return same_shape(run, name, tensor, node)
    if name in CASTS:
        return cast_tensor(run, tensor, CASTS[name], node)
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
    **dict.fromkeys(("view", "reshape"), view),
    "flatten": flatten,
    **dict.fromkeys(("transpose", "swapaxes", "swapdims", "t"), transpose),
    "permute": permute,
    "squeeze": squeeze,
    "unsqueeze": unsqueeze,
    "expand": expand,
    **dict.fromkeys(("matmul", "mm", "bmm"), matmul),
    "linear": linear,
    "masked_fill": masked_fill,
    "chunk": chunk,
    "split": split,
    "size": tensor_size,
    **dict.fromkeys(("dim", "ndimension"), tensor_rank),
    "numel": numel,
    "detach": detach,
    "detach_": detach_in_place,
    "item": tensor_item,
    "requires_grad_": requires_grad_,
    "embedding": embedding,
    "one_hot": one_hot,
    **dict.fromkeys(("max_pool2d", "avg_pool2d"), pool2d),
    **dict.fromkeys(("adaptive_avg_pool2d", "adaptive_max_pool2d"), adaptive_pool2d),
    "to": tensor_to,
    "cuda": move_to_gpu,
    "cpu": move_to_cpu,
    "glu": glu,
    "pow": power,
    **dict.fromkeys(
        ("zeros_like", "ones_like", "rand_like", "randn_like", "empty_like", "full_like"),
        tensor_like,
    ),
}
