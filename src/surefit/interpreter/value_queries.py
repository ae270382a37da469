"""Questions that all parts of the interpreter ask of a value."""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from surefit.interpreter.shapes import Size
from surefit.interpreter.values import (
    UNKNOWN,
    AbstractValue,
    BoundMethod,
    Constant,
    DictValue,
    InstanceValue,
    Integer,
    LayerValue,
    SequenceValue,
    TensorValue,
    Unknown,
    integer_of,
)


def text_in(value: AbstractValue | None) -> str | None:
    text = value.value if isinstance(value, Constant) else None
    return text if isinstance(text, str) else None


def is_none(value: AbstractValue | None) -> bool:
    return isinstance(value, Constant) and value.value is None


def is_true(value: AbstractValue | None) -> bool:
    return isinstance(value, Constant) and value.value is True


def is_array(value: AbstractValue | None) -> bool:
    return isinstance(value, TensorValue) and value.is_array


def sequence(
    kind: str, items: Iterable[AbstractValue] | None, node: ast.AST | None = None
) -> SequenceValue:
    return SequenceValue(kind, None if items is None else tuple(items), node)


def dict_value(
    named: dict[str, AbstractValue],
    node: ast.AST | None = None,
    before: dict[object, AbstractValue] | None = None,
) -> DictValue:
    return DictValue({**(before or {}), **dict(named.items())}, node)


def items_of(value: AbstractValue | None) -> tuple[AbstractValue, ...] | None:
    """Of a list or tuple, where they are known."""
    return value.items if isinstance(value, SequenceValue) else None


def apply(
    function: Callable[..., object], values: Sequence[AbstractValue], node: ast.AST | None = None
) -> AbstractValue:
    """What a function of Python makes of constants; UNKNOWN where one is not known, or it fails."""
    constants = [value.value for value in values if isinstance(value, Constant)]
    if len(constants) != len(values):
        return UNKNOWN
    try:
        return Constant(function(*constants), node)
    except (TypeError, ValueError, ArithmeticError):
        return UNKNOWN


def size_of(value: AbstractValue | None) -> Size:
    return value.size if isinstance(value, Integer) else integer_of(value)


def size_value(size: Size) -> Constant | Integer:
    return Constant(size) if isinstance(size, int) else Integer(size)


def shape_from(values: Sequence[AbstractValue]) -> tuple[Size, ...] | None:
    """`(4, 10)` and `((4, 10),)` alike."""
    if len(values) == 1:
        inner = items_of(values[0])
        if inner is not None:
            return shape_from(inner) if len(inner) != 1 else (size_of(inner[0]),)
        if not isinstance(values[0], Constant | Integer):
            return None
    if not all(isinstance(value, Constant | Integer | Unknown) for value in values):
        return None
    return tuple(size_of(value) for value in values)


def contents(value: AbstractValue) -> Iterator[AbstractValue]:
    """Values that a list, a dict or an object holds."""
    match value:
        case SequenceValue():
            yield from value.items or ()
        case DictValue():
            yield from (value.items or {}).values()
        case InstanceValue():
            yield from value.attributes.values()
        case LayerValue():
            yield from value.children.values()


def origin_of(value: AbstractValue | None) -> ast.AST | None:
    """The number that is written, the constructor, the operation; None where it is not known."""
    if isinstance(value, BoundMethod):
        return origin_of(value.receiver)
    node: ast.AST | None = getattr(value, "node", None)
    return node


def origin_of_dtype(tensor: TensorValue) -> ast.AST | None:
    """The constructor or the cast that gave a tensor its dtype."""
    return tensor.dtype_at or tensor.node


def origin_of_width(tensor: TensorValue) -> ast.AST | None:
    """The layer that gave a tensor its last size, or the expression that created it."""
    return tensor.source_layer.node if tensor.source_layer else tensor.node


def receiver_node(node: ast.AST) -> ast.expr | None:
    """`x` of `x.sum()`."""
    func = node.func if isinstance(node, ast.Call) else None
    return func.value if isinstance(func, ast.Attribute) else None


Default = TypeVar("Default")


@dataclass(slots=True)
class Arguments:
    """By position and by name, and the expressions that they are."""

    positional: list[AbstractValue] = field(default_factory=list)
    named: dict[str, AbstractValue] = field(default_factory=dict)
    nodes: dict[int | str, ast.AST] = field(default_factory=dict)
    open: bool = False
    """There are more, by `*` or `**`, that are not known."""

    def get(
        self, name: str, position: int | None, default: Default
    ) -> AbstractValue | Unknown | Default:
        """`default` where it is certainly not passed; UNKNOWN where that is not certain."""
        if name in self.named:
            return self.named[name]
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return UNKNOWN if self.open else default

    @property
    def first(self) -> AbstractValue:
        return self.positional[0] if self.positional else UNKNOWN

    def node(self, name: str, position: int | None, otherwise: ast.AST) -> ast.AST:
        by_position = self.nodes.get(position) if position is not None else None
        return self.nodes.get(name) or by_position or otherwise

    def number(self, name: str, position: int | None, default: int | None) -> int | None:
        return integer_of(self.get(name, position, Constant(default)))

    def flag(self, name: str, position: int | None, default: bool) -> bool | None:
        value = self.get(name, position, Constant(default))
        return bool(value.value) if isinstance(value, Constant) else None

    @property
    def values(self) -> list[AbstractValue]:
        return [*self.positional, *self.named.values()]

    def after_first(self) -> "Arguments":
        nodes = {
            key - 1 if isinstance(key, int) else key: node
            for key, node in self.nodes.items()
            if key != 0
        }
        return Arguments(self.positional[1:], self.named, nodes, self.open)
