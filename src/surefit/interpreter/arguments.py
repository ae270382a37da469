"""What a call passes."""

import ast
from dataclasses import dataclass, field
from typing import TypeVar

from surefit.interpreter.value_queries import integer_of
from surefit.interpreter.values import UNKNOWN, AbstractValue, Constant, Unknown

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
