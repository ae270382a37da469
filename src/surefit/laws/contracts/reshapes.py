"""What `view` and `reshape` take: as many elements as there are; `view`, strides that fit."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression, Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.laws.operations.operands import fails_in_own_code, operand_in
from surefit.laws.operations.strides import can_view, inferred
from surefit.laws.values.frame_numbers import size_nodes, sizes_in
from surefit.laws.values.names import name_in
from surefit.source import snippets
from surefit.source.reading import called

RESHAPES = ("view", "reshape")


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementCount(Violation):
    """A reshape asks for another number of elements than the tensor has."""

    tensor: Operand
    target: tuple[int, ...]
    axes: tuple[int, ...]
    """Axes of the tensor that are left over once those that both shapes share are removed."""
    asked: tuple[int, ...]
    """The sizes that are asked for in their place."""
    written: tuple[Expression, ...]
    """The same as the source has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotContiguous(Violation):
    """`view` cannot give a tensor another shape without a copy."""

    tensor: Operand
    call: str
    """`labels.view(-1)`."""
    target: tuple[int, ...] | None = None
    inside: str = ""
    """The function or layer of a library that calls `view`; empty where the user does."""

    @property
    def one_row_would_do(self) -> bool:
        """Of a batch with one row there would be a view."""
        shape, stride = self.tensor.shape, self.tensor.value.stride
        if self.target is None or not stride or not shape or shape[0] < 2:
            return False
        target = inferred((1, *shape[1:]), self.target)
        return target is not None and can_view((1, *shape[1:]), stride, target)


def violations_of(case: Case) -> Iterator[Violation]:
    if case.own is None:
        return
    node = snippets.expression(case.frames[-1].expression)
    if not isinstance(node, ast.Call) or called(node) not in RESHAPES or node.keywords:
        return
    if not isinstance(node.func, ast.Attribute) or not node.args:
        return
    tensor = viewed(case, node.func.value)
    target = sizes_in(case.frames[-1], node.args)
    shape, stride = tensor.shape, tensor.value.stride
    if target is not None and tensor.value.shape is not None:
        whole = inferred(shape, target)
        if whole is None and fails_in_own_code(case):
            yield from of_count(case, tensor, target)
        elif whole is not None and stride is not None and not can_view(shape, stride, whole):
            yield from of_strides(case, tensor, node, target)
    elif tensor.value.contiguous is False:
        yield from of_strides(case, tensor, node, None)


def viewed(case: Case, receiver: ast.expr) -> Operand:
    """The tensor that the innermost frame calls `view` on, with the user's name for it."""
    frame, number, text = case.frames[-1], len(case.frames) - 1, ast.unparse(receiver)
    source = case.source(frame)
    match case.node(frame) if frame.own else None:
        case ast.Call(func=ast.Attribute(value=inner)) if source is not None:
            return operand_in(case, source, inner)
    value = frame.value(text) or Value(text, "")
    name = text if frame.own else name_in(case, value, number) or text
    return Operand(value=value, name=in_code(name, "the tensor"), frame=number)


def of_strides(
    case: Case, tensor: Operand, call: ast.Call, target: tuple[int, ...] | None
) -> Iterator[NotContiguous]:
    if called(call) != "view":
        return
    assert case.own is not None
    innermost = case.frames[-1]
    inside = innermost.layer.kind if innermost.layer is not None else innermost.function
    yield NotContiguous(
        use=use_of(case.own),
        tensor=tensor,
        call=ast.unparse(call),
        target=target,
        inside="" if innermost.own else inside,
    )


def of_count(case: Case, tensor: Operand, target: tuple[int, ...]) -> Iterator[ElementCount]:
    assert case.own is not None
    node, source = case.node(case.own), case.source(case.own)
    if source is not None and isinstance(node, ast.Call):
        written = [case.expression(source, part) for part in size_nodes(node.args)]
        yield from count_differs(use_of(case.own), tensor, target, written)


def count_differs(
    use: Expression, tensor: Operand, target: tuple[int, ...], written: Sequence[Expression]
) -> Iterator[ElementCount]:
    """Equal axes in front, or a -1 for them, and equal ones at the end are removed; nothing where
    the rows are among what is left, or where a -1 is."""
    shape = tensor.shape
    start, end = 0, 0
    shorter = min(len(shape), len(target))
    if target and target[0] == -1 and len(shape) > 1:
        start = 1
    else:
        while start < shorter and shape[start] == target[start]:
            start += 1
    while end < shorter - start and shape[-1 - end] == target[-1 - end]:
        end += 1
    axes, asked = shape[start : len(shape) - end], target[start : len(target) - end]
    if start and axes and asked and -1 not in asked and prod(axes) != prod(asked):
        yield ElementCount(
            use=use,
            tensor=tensor,
            target=target,
            axes=axes,
            asked=asked,
            written=tuple(written[start : len(target) - end]),
        )
