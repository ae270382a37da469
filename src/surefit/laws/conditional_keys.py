"""Keys of rows that the user's script sets only under a condition."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.source.line_edits import inserted_before, shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Function, Source


@dataclass(frozen=True, slots=True)
class KeyUnderCondition:
    """`row["weight"] = ...` or `{"weight": ...}` inside an `if`."""

    source: Source
    condition: ast.If
    at: ast.expr
    """The target, or the display."""
    holder: str
    """`row`; empty for a display."""

    @property
    def written(self) -> Expression:
        place = Place(self.source.file, self.at.lineno)
        return Expression(place, self.source.span(self.at), self.source.segment(self.at))

    @property
    def asked(self) -> str:
        return " ".join(self.source.segment(self.condition.test).split())

    @property
    def assigned(self) -> str:
        """The value of the key, as it is written."""
        statement = self.source.parents.get(self.at)
        return self.source.segment(statement.value) if isinstance(statement, ast.Assign) else ""

    def always(self, key: str, value: str) -> Edit | None:
        """A value before the condition, which replaces it where it holds."""
        if not self.holder or self.condition.orelse or shares_lines(self.source, self.condition):
            return None
        return inserted_before(self.source, self.condition, f'{self.holder}["{key}"] = {value}')


def set_under_condition(key: str, case: Case) -> KeyUnderCondition | None:
    """Where the user's sources have just one such place."""
    known = [each for source in case.recording.sources() for each in in_conditions(key, source)]
    return known[0] if len(known) == 1 else None


def in_conditions(key: str, source: Source) -> Iterator[KeyUnderCondition]:
    for node in source.nodes:
        holder = ""
        match node:
            case ast.Subscript(value=owner, slice=ast.Constant(value=name), ctx=ast.Store()):
                holder = source.segment(owner)
            case ast.Dict(keys=keys):
                names = [each.value for each in keys if isinstance(each, ast.Constant)]
                name = key if key in names else ""
            case _:
                continue
        condition = condition_around(source, node) if name == key else None
        if condition is not None and isinstance(node, ast.expr):
            yield KeyUnderCondition(source, condition, node, holder)


def condition_around(source: Source, node: ast.AST) -> ast.If | None:
    """The innermost `if` of the same function; not that of a script's `__main__`."""
    for outer in source.up(node):
        if isinstance(outer, Function):
            return None
        if isinstance(outer, ast.If):
            return None if "__main__" in ast.unparse(outer.test) else outer
    return None
