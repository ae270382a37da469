"""A tuple that was used as if it were one of its members, and which of them was meant."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.evidence.misfits import LAST_AXIS
from surefit.source.reading import Source, called

SCALARS = ("loss", "backward", "item")
REDUCTIONS = (
    *("argmax", "argmin", "argsort", "argpartition", "max", "min", "mean", "sum", "exp", "round"),
    *("squeeze", "array", "asarray", "softmax", "sigmoid", "log_softmax", "log", "clip", "where"),
)
"""Functions on one array, whatever library they are of."""
STACKS = ("array", "asarray")


@dataclass(frozen=True, slots=True)
class TupleTaken:
    """The user's expression for a tuple, and how it was used."""

    frame: Frame
    source: Source
    node: ast.expr
    value: Value
    attribute: str = ""
    """`loss` of `outputs.loss`; nothing where the tuple itself was given to a function."""

    @property
    def text(self) -> str:
        return " ".join(self.source.segment(self.node).split())

    @property
    def tensors(self) -> dict[int, Value]:
        members = self.value.members.items()
        return {int(at): one for at, one in members if at.isdigit() and one.shape is not None}


def tuple_taken(crash: Crash, seen: Recording) -> TupleTaken | None:
    """In the innermost own frame: an attribute of a tuple, or a call that was given one."""
    frame = crash.own_frame
    source = seen.source(frame.place) if frame else None
    node = source.expression_at(frame.span) if source and frame and frame.span else None
    if frame is None or source is None or node is None:
        return None
    if frame is crash.frames[-1] and crash.kind == "AttributeError":
        taken = attribute_of(frame, source, node)
        return handed_down(crash, taken, seen) if taken else None
    if not isinstance(node, ast.Call):
        return None
    for one in [*node.args, *(keyword.value for keyword in node.keywords)]:
        value = value_of(frame, one)
        if value is not None and is_tuple(value) and wants_a_tensor(crash, frame, node, value):
            return handed_down(crash, TupleTaken(frame, source, one, value), seen)
    return None


def wants_a_tensor(crash: Crash, frame: Frame, call: ast.Call, value: Value) -> bool:
    """The call cannot take a tuple: a function on one array, or one of torch that refused the very
    tuple by its kind. `torch.cat` and its like take tuples."""
    if (
        called(call) in STACKS
        and len({len(one.shape or ()) for one in value.members.values()}) == 1
    ):
        return False
    if called(call) in REDUCTIONS:
        return True
    last = crash.frames[-1]
    if frame is last or crash.kind not in ("TypeError", "AttributeError"):
        return False
    first = next((one for one in last.arguments if one != "self"), None)
    return any(one.text == first and one.identity == value.identity for one in last.values)


def handed_down(crash: Crash, taken: TupleTaken, seen: Recording) -> TupleTaken:
    """The same tuple in the caller's words, where the function got it as an argument."""
    at = crash.frames.index(taken.frame)
    if not isinstance(taken.node, ast.Name) or taken.node.id not in taken.frame.arguments:
        return taken
    for frame in reversed(crash.frames[:at]):
        source = seen.source(frame.place) if frame.own else None
        node = source.expression_at(frame.span) if source and frame.span else None
        if source is None or not isinstance(node, ast.Call):
            continue
        for one in [*node.args, *(keyword.value for keyword in node.keywords)]:
            value = value_of(frame, one)
            if value is not None and value.identity == taken.value.identity:
                return TupleTaken(frame, source, one, value)
        return taken
    return taken


def attribute_of(frame: Frame, source: Source, node: ast.expr) -> TupleTaken | None:
    inner = node.func if isinstance(node, ast.Call) else node
    if not isinstance(inner, ast.Attribute):
        return None
    value = value_of(frame, inner.value)
    if value is None or not is_tuple(value):
        return None
    return TupleTaken(frame, source, inner.value, value, inner.attr)


def is_tuple(value: Value) -> bool:
    """A plain one with tensors or arrays in it."""
    return value.kind == "tuple" and any(one.shape is not None for one in value.members.values())


def value_of(frame: Frame, node: ast.expr) -> Value | None:
    text = ast.unparse(node)
    return next((one for one in frame.values if one.text == text), None)


def meant(crash: Crash, taken: TupleTaken, attribute: str) -> int | None:
    """Which member fits the use, where just one does."""
    tensors = taken.tensors
    if attribute in SCALARS:
        found = [at for at, one in tensors.items() if one.shape == ()]
        return found[0] if len(found) == 1 else None
    wide = {at: one for at, one in tensors.items() if one.shape}
    width = width_wanted(crash) if not attribute else None
    if width is not None:
        wide = {at: one for at, one in wide.items() if (one.shape or (0,))[-1] == width}
    if len(wide) == 1:
        return next(iter(wide))
    fitting = [at for at, one in wide.items() if any(fits(one, other) for other in labels(taken))]
    return fitting[0] if len(fitting) == 1 else None


def width_wanted(crash: Crash) -> int | None:
    layer = crash.layer
    return layer.sizes.get(LAST_AXIS.get(layer.kind, "")) if layer else None


def labels(taken: TupleTaken) -> Iterator[Value]:
    """Whole numbers in the same frame that predictions could be held against."""
    for value in taken.frame.values:
        whole = (value.dtype or "").startswith(("int", "uint"))
        if value.shape and whole:
            yield value


def fits(predictions: Value, labels: Value) -> bool:
    """A prediction for each label: one axis more, of classes."""
    shape, other = predictions.shape or (), labels.shape or ()
    return len(shape) == len(other) + 1 and shape[: len(other)] == other
