"""What becomes a NumPy array is a tensor on the CPU, without a graph, of a dtype that NumPy has."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.source.reading import called
from surefit.source.selection import nodes_within

NOT_IN_NUMPY = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
KEEPS = ("cpu", "squeeze", "unsqueeze", "flatten", "reshape", "view", "contiguous", "clone")
"""Methods that keep both the graph and the dtype."""
CONVERTS = "Tensor.__array__"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotReadyForNumpy(Violation):
    """A tensor that was to become an array, or a list with it."""

    tensor: Operand
    """As the user hands it over: the tensor, or the list."""
    value: Value
    """Of the tensor, or of one that it is computed from."""
    frame: int
    """Number of the frame that has `value` under its text."""
    exact: bool
    """`value` is the tensor itself."""
    in_list: bool = False
    by_method: bool = False
    """`.numpy()` is called on it; otherwise a function of NumPy converts it."""

    @property
    def text(self) -> str:
        return self.tensor.use.text if self.tensor.use is not None else self.value.text

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(needed(self.value))


def needed(value: Value) -> Iterator[str]:
    """What must be done before NumPy can take it."""
    if value.requires_grad:
        yield ".detach()"
    if value.dtype in NOT_IN_NUMPY:
        yield ".float()"
    if value.device not in (None, "cpu"):
        yield ".cpu()"


def violations_of(case: Case) -> Iterator[Violation]:
    own, crash, node = case.own, case.crash, case.node(case.own)
    if own is None or crash is None or not isinstance(node, ast.Call):
        return
    last = crash.frames[-1]
    if own is last:
        broken = of_method(case, own, node)
    elif last.function == CONVERTS:
        broken = of_argument(case, own, node, last)
    else:
        return
    if broken is not None and broken.needs:
        yield broken


def of_method(case: Case, own: Frame, node: ast.Call) -> NotReadyForNumpy | None:
    """`logits.numpy()`; of `torch.sigmoid(logits).numpy()` the tensor inside is known."""
    if called(node) != "numpy" or not isinstance(node.func, ast.Attribute) or node.args:
        return None
    tensor = inner = node.func.value
    while isinstance(inner, ast.Call) and called(inner) in KEEPS and not inner.args:
        assert isinstance(inner.func, ast.Attribute)
        inner = inner.func.value
    value = own.value(ast.unparse(inner))
    if value is not None and value.shape is not None:
        return violation(case, own, tensor, value, exact=True, by_method=True)
    parts = [own.value(ast.unparse(part)) for part in nodes_within(tensor, ast.expr)]
    tensors = [part for part in parts if part is not None and part.shape is not None]
    for part in tensors:
        if part.device is not None and any(needed(part)):
            return violation(case, own, tensor, part, exact=False, by_method=True)
    return None


def of_argument(case: Case, own: Frame, node: ast.Call, last: Frame) -> NotReadyForNumpy | None:
    """The argument that is the tensor or a list with it; the only one, where it has no name."""
    tensors = [value for value in last.values if value.text == "self" and value.shape is not None]
    if not tensors:
        return None
    for argument in node.args:
        value = own.value(ast.unparse(argument))
        if value is not None and value.identity == tensors[0].identity:
            return violation(case, own, argument, tensors[0], exact=True)
        if value is not None and value.kind in ("list", "tuple"):
            return violation(case, own, argument, tensors[0], exact=True, in_list=True)
    if len(node.args) == 1 and isinstance(node.args[0], ast.Call):
        return violation(case, own, node.args[0], tensors[0], exact=True)
    return None


def violation(
    case: Case,
    own: Frame,
    node: ast.expr,
    value: Value,
    *,
    exact: bool,
    **more: bool,
) -> NotReadyForNumpy:
    source = case.source(own)
    assert source is not None
    number = len(case.frames) - 1 if value.text == "self" else case.number
    known = own.value(ast.unparse(node)) or value
    use = case.expression(source, node)
    name = in_code(use.text, "the tensor")
    operand = Operand(value=known, name=name, frame=case.number, use=use)
    return NotReadyForNumpy(
        use=use_of(own), tensor=operand, value=value, frame=number, exact=exact, **more
    )
