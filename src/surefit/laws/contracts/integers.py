"""What needs floating point: means, deviations, softmax, and everything with a gradient."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.numbers import NumberAt
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Expression, Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.laws.layers.vocabularies import bound_name
from surefit.laws.operations.dtypes import CAST_BY
from surefit.laws.operations.operands import fails_in_own_code, operand_in
from surefit.source.reading import Source, called, dotted

NEED_FLOATS = ("mean", "std", "var", "softmax", "log_softmax", "norm", "nanmean")
AVERAGES = ("mean", "nanmean")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "bool")
GIVE_INTEGERS = ("arange", "randint", "randperm", "argmax", "argmin", "argsort", "bincount")
CREATE = ("tensor", "as_tensor", "zeros", "ones", "full", "arange", "randint", "empty", "eye")
PARAMETER = "torch/nn/parameter.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerOperand(Violation):
    """An operation that needs floating point was given integers, or True and False."""

    tensor: Operand
    operation: str
    """`mean`; `a gradient` where one was asked for."""
    holds: Condition | None = None

    @property
    def of_gradient(self) -> bool:
        return self.operation == GRADIENT


GRADIENT = "a gradient"


def violations_of(case: Case) -> Iterator[Violation]:
    node, source = case.node(case.own), case.source(case.own)
    if case.own is None or source is None or not isinstance(node, ast.Call):
        return
    use = use_of(case.own)
    yield from averaged(case, use, source, node)
    tensor = learned_integers(case, source, node)
    if tensor is not None:
        name = name_given(source, node)
        wanted = Wanted(name, dtype="float32", requires_grad=True)
        holds = ValuesAt(use.place, (wanted,), after=True) if name else None
        yield IntegerOperand(use=use, tensor=tensor, operation=GRADIENT, holds=holds)


def averaged(
    case: Case, use: Expression, source: Source, call: ast.Call
) -> Iterator[IntegerOperand]:
    """What the failing call takes a mean of."""
    if called(call) not in NEED_FLOATS or source.argument(call, "dtype") is not None:
        return
    function = source.imported(call.func).startswith("torch.")
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    node = call.args[0] if function and call.args else receiver
    if node is None:
        return
    tensor = operand_in(case, source, node)
    dtype = tensor.dtype or ("bool" if isinstance(node, ast.Compare) else "")
    if dtype not in INTEGERS or tensor.value.kind in ("ndarray", "memmap"):
        return
    value = Value(tensor.value.text, "Tensor", shape=tensor.value.shape, dtype=dtype)
    yield IntegerOperand(
        use=use,
        tensor=replace(tensor, value=value),
        operation=called(call),
        holds=within_bounds(source, use, call, tensor.value, dtype),
    )


def within_bounds(
    source: Source, use: Expression, call: ast.Call, value: Value, dtype: str
) -> Condition | None:
    """The mean that gets a name lies between the least and the greatest of what it is of."""
    name, statement = name_given(source, call), source.statement_of(call)
    if not name or not isinstance(statement, ast.Assign):
        return None
    low, high = (0.0, 1.0) if dtype == "bool" else (value.least, value.greatest)
    single = called(call) in AVERAGES and is_single(statement.value, call)
    if single and low is not None and high is not None:
        return NumberAt(use.place, name, low, high)
    return ValuesAt(use.place, (Wanted(name, dtype="float32"),), after=True)


def is_single(node: ast.expr, call: ast.Call) -> bool:
    """`x.mean()` or `x.mean().item()`, of all numbers, and nothing else."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="item")):
            node = inner
    function = len(call.args) == 1 and not isinstance(call.func, ast.Attribute)
    return node is call and not call.keywords and (not call.args or function or is_torch(call))


def is_torch(call: ast.Call) -> bool:
    return dotted(call.func).startswith("torch.") and len(call.args) == 1


def name_given(source: Source, node: ast.expr) -> str:
    """The one name that the statement gives a value."""
    return bound_name(source.statement_of(node))


def learned_integers(case: Case, source: Source, call: ast.Call) -> Operand | None:
    """Integers that are to have a gradient."""
    if case.frames[-1].place.file.replace("\\", "/").endswith(PARAMETER):
        return of_parameter(case, source, call, case.frames[-1])
    if not fails_in_own_code(case):
        return None
    if called(call) == "requires_grad_" and isinstance(call.func, ast.Attribute):
        tensor = operand_in(case, source, call.func.value)
        return tensor if tensor.dtype in INTEGERS else None
    dtype = created_dtype(case, source, call)
    value = Value(ast.unparse(call), "Tensor", dtype=dtype)
    return described(case, source, call, value) if dtype in INTEGERS else None


def of_parameter(case: Case, source: Source, call: ast.Call, last: Frame) -> Operand | None:
    """`nn.Parameter(torch.ones(4).long())`."""
    data = last.value("data")
    node, grad = source.argument(call, "data", 0), source.argument(call, "requires_grad", 1)
    refused = isinstance(grad, ast.Constant) and grad.value is False
    if data is None or node is None or data.dtype not in INTEGERS or refused:
        return None
    return described(case, source, node, data)


def described(case: Case, source: Source, node: ast.expr, value: Value) -> Operand:
    use = case.expression(source, node)
    return Operand(value=value, name=in_code(use.text, "the tensor"), use=use)


def created_dtype(case: Case, source: Source, call: ast.Call) -> str:
    """`torch.tensor([1, 2], requires_grad=True)`: by what it is given; empty where that is not
    known, or where no gradient is asked for."""
    grad = source.argument(call, "requires_grad")
    if not isinstance(grad, ast.Constant) or grad.value is not True or called(call) not in CREATE:
        return ""
    dtype = source.argument(call, "dtype")
    if dtype is not None:
        name = ast.unparse(dtype).rpartition(".")[2]
        return CAST_BY.get(name, name)
    if called(call) in GIVE_INTEGERS or (call.args and are_integers(case, source, call.args[0])):
        return "int64"
    return ""


def are_integers(case: Case, source: Source, node: ast.expr) -> bool:
    """Numbers that are all written, or known, as integers."""
    value = case.own.value(ast.unparse(node)) if case.own is not None else None
    if value is not None:
        plain = set(value.kinds) <= {"int", "bool"} and bool(value.kinds)
        return plain or value.dtype in INTEGERS or type(value.scalar) is int
    node = source.value_of(node)
    constants = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
    literal = isinstance(node, ast.List | ast.Tuple | ast.Constant)
    return literal and bool(constants) and all(type(item) in (int, bool) for item in constants)
