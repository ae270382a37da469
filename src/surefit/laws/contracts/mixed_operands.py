"""What an operation takes: tensors of one device and, where it multiplies, of one dtype."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.laws.values.names import name_in, plain
from surefit.source import snippets

ONE_DTYPE = frozenset(
    (
        *("linear", "bilinear", "matmul", "mm", "bmm", "mv", "dot", "addmm", "baddbmm", "einsum"),
        *("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell"),
        *("layer_norm", "batch_norm", "group_norm", "instance_norm", "rms_norm"),
        *("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d"),
        *("conv_transpose3d", "scaled_dot_product_attention", "multi_head_attention_forward"),
    )
)
"""Operations that take floats of one dtype, and nothing else."""
INTO_THE_FIRST = frozenset(
    ("setitem", "index_put", "index_add", "index_copy", "scatter", "scatter_add")
)
"""Operations that write into their first tensor, and take its dtype only."""
SEVERAL_DEVICES = frozenset(
    ("copy", "to", "cpu", "cuda", "type_as", "_pack_padded_sequence", "pack_padded_sequence")
)
"""Operations that take tensors of different devices."""
PARAMETER = "Parameter"
OF_TORCH = ("torch/_", "torch/overrides", "torch/library", "torch/utils")
"""Files below the operation that the user or a layer calls."""


@dataclass(frozen=True, slots=True)
class PlainTensor:
    """A tensor that a module holds as an attribute: neither a parameter nor a registered buffer."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    device: str
    learned: bool
    """It requires grad."""
    frame: int | None = None
    """Number of the frame whose module holds it; None for source that was only read."""
    owner: str = ""
    """Class of the module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedOperands(Violation):
    """One of the tensors does not go with the others."""

    operation: str
    """`linear`, `mul`, `setitem`."""
    stray: Operand
    other: Operand
    """One that it should be like."""
    takes: str
    """The device or the dtype of the others."""
    plain: PlainTensor | None = None
    """Of source that was only read: the attribute that the stray tensor is."""

    @property
    def is_weight(self) -> bool:
        return self.stray.value.kind == PARAMETER


class TwoDevices(MixedOperands):
    """It is on another device."""

    @property
    def has(self) -> str:
        return self.stray.value.device or ""


class TwoDtypes(MixedOperands):
    """It has another dtype."""

    @property
    def has(self) -> str:
        return self.stray.dtype


class MoveDropped(Violation):
    """A statement moves a tensor and drops the result: `x.to(device)`."""


def violations_of(case: Case) -> Iterator[Violation]:
    """Of the innermost operation that the user or a layer calls."""
    crash, own = case.crash, case.own
    if crash is None or own is None or crash.in_backward or crash.kind != "RuntimeError":
        return
    number = max(
        number
        for number, frame in enumerate(crash.frames)
        if frame.own or not any(part in frame.place.file for part in OF_TORCH)
    )
    node = failing_node(case, crash.frames[number])
    parts, operation = list(parts_of(node)), operation_of(node)
    values = [value for part in parts for value in values_of(case, number, part)]
    mixed = mixed_among(case, number, operation, values)
    if mixed is None and worth_a_run(case, number, operation, parts):
        values = [value for part in parts for value in computed(case, number, part)]
        mixed = mixed_among(case, number, operation, values)
    if mixed is not None:
        yield mixed


def failing_node(case: Case, frame: Frame) -> ast.AST | None:
    """The expression that failed; of `out[i] = x` the statement."""
    source = case.source(frame.place)
    statement = source.statement_at(frame.place.line) if source and frame.place.line else None
    writes = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript)
    whole = snippets.expression(frame.expression or "None")
    return statement if writes and isinstance(whole, ast.Subscript | ast.Constant) else whole


def mixed_among(
    case: Case, number: int, operation: str, values: list[Value]
) -> MixedOperands | None:
    for kind, stray_of in ((TwoDevices, stray_device), (TwoDtypes, stray_dtype)):
        takes, stray = stray_of(operation, values)
        if stray is None or case.own is None:
            continue
        fits = [value for value in values if takes in (value.device, value.dtype)]
        return kind(
            use=use_of(case.own),
            operation=operation,
            stray=operand(case, number, stray),
            other=operand(case, number, fits[0]),
            takes=takes,
        )
    return None


def worth_a_run(case: Case, number: int, operation: str, parts: list[ast.expr]) -> bool:
    """A second run tells what a part of the user's own expression was that nobody holds."""
    if case.own is None or case.crash is None or case.crash.frames[number] is not case.own:
        return False
    known = {plain(value.text) for value in case.own.values}
    if all(isinstance(part, ast.Constant) or ast.unparse(part) in known for part in parts):
        return False
    elsewhere = any(value.device not in (None, "cpu") for value in case.values())
    return elsewhere or operation in ONE_DTYPE | INTO_THE_FIRST


def parts_of(node: ast.AST | None) -> Iterator[ast.expr]:
    """What the operation was given."""
    match node:
        case ast.Call(func=function, args=args, keywords=keywords):
            if isinstance(function, ast.Attribute):
                yield function.value
            for argument in (*args, *(keyword.value for keyword in keywords)):
                yield from members_of(argument)
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.Compare(left=left, comparators=others):
            yield from (left, *others)
        case ast.Subscript(value=value, slice=index):
            yield from (value, *members_of(index))
        case ast.Assign(targets=[ast.Subscript(value=target)], value=value):
            yield from (target, value)


def members_of(node: ast.expr) -> Iterator[ast.expr]:
    yield from node.elts if isinstance(node, ast.List | ast.Tuple) else (node,)


def operation_of(node: ast.AST | None) -> str:
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name.rstrip("_")
        case ast.BinOp(op=ast.MatMult()):
            return "matmul"
        case ast.Assign():
            return "setitem"
    return type(getattr(node, "op", node)).__name__.lower()


def values_of(case: Case, number: int, part: ast.expr) -> Iterator[Value]:
    """The tensor that a frame has under this text, or the tensors in its list."""
    assert case.crash is not None
    values, text = case.crash.frames[number].values, ast.unparse(part)
    for value in [value for value in values if plain(value.text) == text][:1]:
        yield from tensors(value)
        for name, member in value.members.items():
            yield from tensors(replace(member, text=f"{value.text}[{name}]"))


def tensors(value: Value) -> Iterator[Value]:
    if value.dtype is not None and value.device is not None:
        yield value


def computed(case: Case, number: int, part: ast.expr) -> Iterator[Value]:
    """What a part of the expression was, where no frame holds it."""
    known, text = list(values_of(case, number, part)), ast.unparse(part)
    yield from known
    lineage = case.lineage(Operand(value=Value(text, ""), name=text, frame=number))
    for source in lineage.root[:1] if not known else ():
        yield from tensors(replace(lineage.graph[source.serial].value, text=text))


def stray_device(operation: str, values: list[Value]) -> tuple[str, Value | None]:
    """The device that is meant is not the CPU; single numbers on the CPU go with every device, and
    so do indices."""
    indexed = operation == "subscript" and bool(values) and values[0].device != "cpu"
    counting = [value for value in values if value.shape or value.device != "cpu"]
    devices = sorted({value.device or "" for value in counting})
    if operation in SEVERAL_DEVICES or indexed or len(devices) != 2:
        return "", None
    elsewhere = [device for device in devices if device != "cpu"]
    weights = [value.device or "" for value in counting if value.kind == PARAMETER]
    takes = elsewhere[0] if len(elsewhere) == 1 else (weights or elsewhere)[0]
    return takes, next(value for value in counting if value.device != takes)


def stray_dtype(operation: str, values: list[Value]) -> tuple[str, Value | None]:
    """Where the weights do not say what is meant: float32 beside float64, floats beside
    integers."""
    counting = [value for value in values if value.dtype != "bool"]
    floating = [value for value in counting if (value.dtype or "").startswith(("float", "bfloat"))]
    floats = {value.dtype or "" for value in floating}
    takes = ""
    if operation in INTO_THE_FIRST:
        counting = floating
        takes = floating[0].dtype or "" if floating else ""
    elif operation in ONE_DTYPE:
        weights = {value.dtype or "" for value in counting if value.kind == PARAMETER}
        usual = {"float32"} & floats or floats
        takes = next((min(known) for known in (weights, usual) if len(known) == 1), "")
    others = [value for value in counting if value.dtype != takes]
    return (takes, others[0]) if takes and 0 < len(others) < len(counting) else ("", None)


def operand(case: Case, number: int, value: Value) -> Operand:
    text = name_in(case, value, number + 1) or value.text
    return Operand(value=value, name=in_code(text, "a tensor"), frame=number)
