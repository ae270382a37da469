"""Values that have fewer axes than at every earlier evaluation, and where they lost them."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Operand, Written
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.layers.axis_changes import receiver
from surefit.laws.values.earlier import earlier_passes, passed_often
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer
from surefit.lineage.properties import array_axes
from surefit.source.edits import BINDS_TIGHTLY
from surefit.source.reading import Source, called

SQUEEZE = "squeeze"


@dataclass(frozen=True, slots=True)
class LostAxis:
    """A value of the failing line, the expression after which an axis is missing, and the text
    that keeps it."""

    value: Value
    usual: tuple[int | None, ...] | None
    """The shape at all earlier evaluations, or of all other items; None along axes whose size
    varied."""
    times: int
    """How many earlier evaluations, or other items, there were."""
    among: str
    """The list that it is an item of, where it is compared with the other items."""
    birth: Producer
    before: tuple[int, ...] | None
    """The shape of what was squeezed."""
    texts: tuple[str, ...]
    """In place of the expression, the most likely first."""

    @property
    def is_squeezed(self) -> bool:
        return self.before is not None


def lost_axes(case: Case) -> Iterator[LostAxis]:
    """Raises while a second run has yet to tell."""
    frame = passed_often(case)
    if frame is None:
        return
    passed = earlier_passes(frame, case)
    for value in frame.values:
        earlier = [known for point in passed for known in point.values if known.text == value.text]
        among, others = ("", earlier) if earlier else other_items(value, case)
        for lost in lost_by(value, frame, others, case):
            yield replace(lost, among=among)


def other_items(value: Value, case: Case) -> tuple[str, list[Value]]:
    """Of a list or tuple in a frame that holds the value: those of another shape."""
    for frame in reversed(case.frames):
        for known in frame.values:
            items = list(known.members.values())
            holds = value.identity in {item.identity for item in items}
            if known.kind in ("list", "tuple") and holds:
                return known.text, [item for item in items if item.shape != value.shape]
    return "", []


def lost_by(value: Value, frame: Frame, earlier: Sequence[Value], case: Case) -> Iterator[LostAxis]:
    usual = usual_shape(earlier)
    number = value.shape is not None or isinstance(value.scalar, int | float)
    lacks = number and usual is not None and len(value.shape or ()) < len(usual)
    if not number or (earlier and not lacks and not were_lists(earlier)):
        return
    operand = Operand(value=value, name=code(value.text), frame=case.frames.index(frame))
    lineage = case.lineage(operand)
    for birth, before in bare_squeezes(lineage, case):
        yield LostAxis(value, usual, len(earlier), "", birth, before, named(birth, before, case))
        return
    if not lacks or value.shape is None or usual is None:
        return
    source = lineage.birth(of=array_axes(len(value.shape)))
    texts = reshaped(source, value.shape, usual, case) if source is not None else ()
    if source is not None and texts:
        yield LostAxis(value, usual, len(earlier), "", source, None, texts)


def usual_shape(earlier: Sequence[Value]) -> tuple[int | None, ...] | None:
    """Sizes that never changed; None where even the number of axes did."""
    shapes = {known.shape for known in earlier}
    if not shapes or None in shapes or len({len(shape or ()) for shape in shapes}) != 1:
        return None
    sizes = zip(*(shape for shape in shapes if shape is not None), strict=True)
    return tuple(along[0] if len(set(along)) == 1 else None for along in sizes)


def were_lists(earlier: Sequence[Value]) -> bool:
    """`.tolist()` of a tensor without axes is no list but a number."""
    return {known.kind for known in earlier} == {"list"}


def bare_squeezes(lineage: Lineage, case: Case) -> Iterator[tuple[Producer, tuple[int, ...]]]:
    """`x.squeeze()` of a batch of one, newest first, with the shape of `x`."""
    for producer in lineage.producers:
        node = case.node(producer)
        if not isinstance(node, ast.Call) or called(node) != SQUEEZE:
            continue
        source = case.source(producer.place)
        inside = receiver(source, node) if source is not None else None
        is_bare = not node.keywords and node.args in ([], [inside])
        shapes = [
            before.value.shape
            for _, before in lineage.inputs(producer)
            if before.value.shape is not None
        ]
        if is_bare and shapes and len(shapes[0]) > 1 and shapes[0][0] == 1:
            yield producer, shapes[0]


def named(birth: Written, before: tuple[int, ...], case: Case) -> tuple[str, ...]:
    """The same squeeze of a later axis: of all later axes of size 1, or of each; where there is
    none, what is squeezed."""
    node, source = case.node(birth), case.source(birth.place)
    assert isinstance(node, ast.Call)
    assert source is not None
    single = [axis for axis in range(1, len(before)) if before[axis] == 1]
    inside = receiver(source, node)
    if not single and inside is not None:
        text = source.segment(inside)
        return (text if isinstance(inside, BINDS_TIGHTLY) else f"({text})",)
    together = (", ".join(map(str, single)),) if len(single) == 1 else (str(tuple(single)),)
    each = tuple(map(str, single)) if len(single) > 1 else ()
    return tuple(with_axis(source, node, axis) for axis in (*together, *each))


def with_axis(source: Source, node: ast.Call, axis: str) -> str:
    text = source.segment(node)
    inside = text.rstrip().removesuffix(")").rstrip().removesuffix(",")
    return f"{inside}, {axis})" if node.args else f"{inside}{axis})"


def reshaped(
    birth: Written, shape: tuple[int, ...], usual: tuple[int | None, ...], case: Case
) -> tuple[str, ...]:
    """`.reshape(-1, 4)` behind it, where all earlier rows had 4."""
    source, node, sizes = case.source(birth.place), case.node(birth), usual[1:]
    rows = prod(size or 0 for size in sizes)
    known = [size for size in sizes if size is not None]
    if source is None or node is None or len(known) < len(sizes) or rows == 0 or prod(shape) % rows:
        return ()
    text = source.segment(node)
    whole = text if isinstance(node, ast.Call | ast.Subscript | ast.Name) else f"({text})"
    return (f"{whole}.reshape({', '.join(map(str, (-1, *known)))})",)
