"""What a call is given."""

import ast
from dataclasses import dataclass, field
from typing import Any

from surefit.evidence.imagined.values import UNKNOWN, Known, whole


@dataclass(slots=True)
class Given:
    """Arguments of a call, by place and by name, and the expressions that they are."""

    plain: list[Any] = field(default_factory=list)
    named: dict[str, Any] = field(default_factory=dict)
    nodes: dict[int | str, ast.AST] = field(default_factory=dict)
    open: bool = False
    """There are more, by `*` or `**`, that are not known."""

    def get(self, name: str, position: int | None = None, default: Any = None) -> Any:
        """`default` where it is surely not given; UNKNOWN where that cannot be told."""
        if name in self.named:
            return self.named[name]
        if position is not None and position < len(self.plain):
            return self.plain[position]
        if self.open:
            return UNKNOWN
        return default

    def node(self, name: str, position: int | None = None) -> ast.AST | None:
        return self.nodes.get(name) or (self.nodes.get(position) if position is not None else None)

    def number(self, name: str, position: int | None, default: int | None) -> int | None:
        return whole(self.get(name, position, Known(default)))

    def flag(self, name: str, position: int | None, default: bool) -> bool | None:
        value = self.get(name, position, Known(default))
        return bool(value.value) if isinstance(value, Known) else None

    @property
    def all(self) -> list[Any]:
        return [*self.plain, *self.named.values()]

    def after_first(self) -> "Given":
        nodes = {
            key - 1 if isinstance(key, int) else key: node
            for key, node in self.nodes.items()
            if key != 0
        }
        return Given(self.plain[1:], self.named, nodes, self.open)
