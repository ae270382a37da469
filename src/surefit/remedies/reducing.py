"""A size that a reduction or a count gave: another axis, or a count of all classes."""

import ast
from collections.abc import Iterator, Sequence

from surefit.doctor.violations import Expression
from surefit.doctor.words import code
from surefit.laws.case import NO_LINEAGE, Case, Remedy
from surefit.laws.layers.axis_changes import REDUCES
from surefit.laws.operations.conflict_story import SizeOrigin
from surefit.lineage.producers import Producer
from surefit.remedies.arguments import SetArgument
from surefit.remedies.replace import ReplaceWith
from surefit.source.reading import called

REDUCTIONS = frozenset((*REDUCES, "argmax", "argmin", "prod", "any", "all", "logsumexp"))


def along_another_axis(known: Sequence[SizeOrigin], case: Case) -> Iterator[Remedy]:
    """`logits.argmax(dim=-1)` for `logits.argmax(dim=1)`, where that leaves the size that the other
    side has."""
    for origin in known:
        others = [other.side.number for other in known if other is not origin]
        operand, kept = origin.operand, origin.side.axis
        in_frame = operand is not None and operand.frame is not None
        lineage = case.lineage(operand) if operand and in_frame else NO_LINEAGE
        for producer in lineage.producers:
            axis = axis_of(producer, case)
            befores = [before.value.shape for _, before in lineage.inputs(producer)]
            shape = next((known for known in befores if known and len(known) > 1), None)
            if axis is None or shape is None or kept is None or not others:
                continue
            node = case.node(axis)
            taken = int(ast.literal_eval(node)) % len(shape) if node is not None else -1
            if producer.value.shape != without(shape, taken):
                continue
            if without(shape, taken)[kept : kept + 1] != (origin.side.number,):
                continue
            fitting = [
                at
                for at in range(1, len(shape))
                if at != taken and without(shape, at)[kept : kept + 1] == (others[0],)
            ]
            if len(fitting) == 1:
                to = fitting[0] - len(shape)
                words = f"Reduce the axis of {shape[fitting[0]]:,}, and not that of"
                words = f"{words} {shape[taken]:,}: {code(axis.text)} → `{to}`."
                yield ReplaceWith(at=axis, text=str(to), words=words)
                return


def without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def axis_of(producer: Producer, case: Case) -> Expression | None:
    """The axis that a reduction is written with, as a number."""
    call, source = case.node(producer), case.source(producer.place)
    if source is None or not isinstance(call, ast.Call) or called(call) not in REDUCTIONS:
        return None
    is_method = isinstance(call.func, ast.Attribute) and not source.imported(call.func)
    position = 0 if is_method else 1
    for name in ("dim", "axis"):
        node = source.argument(call, name, position)
        try:
            if node is not None and isinstance(ast.literal_eval(node), int):
                return case.expression(source, node)
        except ValueError:
            return None
    return None


def counted_in_full(known: Sequence[SizeOrigin], case: Case) -> Iterator[Remedy]:
    """`np.bincount(y, minlength=4)`: without that, it has no place for a class that is absent."""
    for origin in known:
        call = case.node(origin.birth)
        others = [other.side.number for other in known if other is not origin]
        if origin.birth is None or not isinstance(call, ast.Call) or called(call) != "bincount":
            continue
        if others and others[0] > origin.side.number:
            words = f"Count all {others[0]:,} classes, those that do not occur, too:"
            words = f"{words} `minlength={others[0]}`."
            value = str(others[0])
            yield SetArgument(at=origin.birth, name="minlength", value=value, words=words)
