"""What is used as a tensor is one, not a tuple of several outputs."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.source.reading import called

SCALARS = ("loss", "backward", "item")
REDUCTIONS = (
    *("argmax", "argmin", "argsort", "argpartition", "max", "min", "mean", "sum", "exp", "round"),
    *("squeeze", "array", "asarray", "softmax", "sigmoid", "log_softmax", "log", "clip", "where"),
)
"""Functions on one array, whatever library they are of."""
STACKS = ("array", "asarray")
WIDTHS = ("in_features", "nx", "input_size", "embed_dim", "normalized_shape")
"""Attributes of layers that say how wide the last axis of their input is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleTaken(Violation):
    """A plain tuple with tensors in it was used by an attribute that tuples lack, or as the
    argument of a function that takes one tensor."""

    outputs: Operand
    frame: Frame
    """The user's frame that has the tuple."""
    attribute: str = ""
    """`loss` of `outputs.loss`; empty where the tuple itself was handed to a function."""

    @property
    def text(self) -> str:
        return self.outputs.use.text if self.outputs.use is not None else self.outputs.value.text

    @property
    def tensors(self) -> dict[int, Value]:
        members = self.outputs.value.members.items()
        return {int(key): value for key, value in members if key.isdigit() and is_tensor(value)}

    def meant(self, case: Case, attribute: str) -> int | None:
        """Which member fits the use, where just one does."""
        if attribute in SCALARS:
            single = [at for at, value in self.tensors.items() if value.shape == ()]
            return single[0] if len(single) == 1 else None
        wide = {at: value for at, value in self.tensors.items() if value.shape}
        width = width_taken(case) if not attribute else None
        if width is not None:
            wide = {at: value for at, value in wide.items() if (value.shape or (0,))[-1] == width}
        if len(wide) == 1:
            return next(iter(wide))
        labels = list(integers(self.frame))
        fitting = [at for at, value in wide.items() if any(fits(value, label) for label in labels)]
        return fitting[0] if len(fitting) == 1 else None


def is_tensor(value: Value) -> bool:
    return value.shape is not None


def violations_of(case: Case) -> Iterator[Violation]:
    """In the user's innermost frame."""
    own, crash, node = case.own, case.crash, case.node(case.own)
    if own is None or crash is None or node is None:
        return
    if own is crash.frames[-1] and crash.kind == "AttributeError":
        inner = node.func if isinstance(node, ast.Call) else node
        if isinstance(inner, ast.Attribute):
            value = own.value(ast.unparse(inner.value))
            if value is not None and is_tuple(value):
                yield handed_over(case, own, inner.value, value, inner.attr)
    elif isinstance(node, ast.Call):
        for part in (*node.args, *(keyword.value for keyword in node.keywords)):
            value = own.value(ast.unparse(part))
            if value is not None and is_tuple(value) and takes_a_tensor(case, own, node, value):
                yield handed_over(case, own, part, value, "")
                return


def takes_a_tensor(case: Case, own: Frame, call: ast.Call, value: Value) -> bool:
    """The call cannot take a tuple: a function on one array, or one of torch that refused the very
    tuple by its type. `torch.cat` and its like take tuples."""
    ranks = {len(member.shape or ()) for member in value.members.values()}
    if called(call) in STACKS and len(ranks) == 1:
        return False
    if called(call) in REDUCTIONS:
        return True
    last = case.crash.frames[-1] if case.crash is not None else own
    if case.crash is None or own is last or case.crash.kind not in ("TypeError", "AttributeError"):
        return False
    first = next((text for text in last.arguments if text != "self"), None)
    return any(known.text == first and known.identity == value.identity for known in last.values)


def handed_over(
    case: Case, frame: Frame, node: ast.expr, value: Value, attribute: str
) -> TupleTaken:
    """In the words of the caller, where the function got the tuple as an argument."""
    at = case.frames.index(frame)
    is_argument = isinstance(node, ast.Name) and node.id in frame.arguments
    for outer in reversed(case.frames[:at] if is_argument else ()):
        call = case.node(outer) if outer.own else None
        if not isinstance(call, ast.Call):
            continue
        for part in (*call.args, *(keyword.value for keyword in call.keywords)):
            known = outer.value(ast.unparse(part))
            if known is not None and known.identity == value.identity:
                return violation(case, outer, part, known, "")
        break
    return violation(case, frame, node, value, attribute)


def violation(case: Case, frame: Frame, node: ast.expr, value: Value, attribute: str) -> TupleTaken:
    source = case.source(frame)
    assert source is not None
    use, number = case.expression(source, node), case.frames.index(frame)
    outputs = Operand(value=value, name=in_code(use.text, "the tuple"), frame=number, use=use)
    return TupleTaken(use=use_of(frame), outputs=outputs, frame=frame, attribute=attribute)


def is_tuple(value: Value) -> bool:
    return value.kind == "tuple" and any(map(is_tensor, value.members.values()))


def width_taken(case: Case) -> int | None:
    layer = case.crash.layer if case.crash is not None else None
    sizes = layer.sizes if layer is not None else {}
    return next((sizes[name] for name in WIDTHS if name in sizes), None)


def integers(frame: Frame) -> Iterator[Value]:
    """Labels that predictions could be compared with."""
    for value in frame.values:
        if value.shape and (value.dtype or "").startswith(("int", "uint")):
            yield value


def fits(predictions: Value, labels: Value) -> bool:
    """A prediction for each label: one axis more, of classes."""
    shape, other = predictions.shape or (), labels.shape or ()
    return len(shape) == len(other) + 1 and shape[: len(other)] == other
