"""Which number stands where none was measured, followed from where it began to where it is used."""

import ast
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeGuard

from surefit.doctor.findings import Place
from surefit.doctor.handlers import Tries, within_function
from surefit.source.classes import pairs
from surefit.source.evaluation import Known, NotKnown, constant, evaluated
from surefit.source.reading import Loop, Source, dotted

PLAIN: tuple[Callable[..., Known], ...] = (min, max, sum, len, abs, float, int, round)
OF_MATH: tuple[Callable[..., Known], ...] = (
    *(math.exp, math.log, math.sqrt),
    *(math.isinf, math.isnan, math.isfinite),
)
MEASURES = {measure.__name__: measure for measure in PLAIN} | {
    f"math.{measure.__name__}": measure for measure in OF_MATH
}
CONSTANTS = {"inf": math.inf, "nan": math.nan, "NaN": math.nan}


@dataclass(frozen=True, slots=True)
class StandIn:
    """A number that was not measured, under the name that it is used by."""

    name: str
    value: float
    place: Place
    given_back_by: str = ""
    """The function, where the number has no name of its own."""


def number_of(node: ast.expr | None) -> float | None:
    """The plain number that an expression is: `10000.0`, `-1`, `float("inf")`, `math.nan`."""
    try:
        value = Names({}).value(node) if node is not None else None
    except NotKnown:
        return None
    return float(value) if is_number(value) else None


@dataclass(slots=True)
class Names:
    """What is known of the names of a function; reads expressions that need nothing else."""

    known: dict[str, Known] = field(default_factory=dict)

    def value(self, node: ast.expr) -> Known:
        return evaluated(node, self._known)

    def _known(self, node: ast.expr) -> Known:
        match node:
            case ast.List(elts=[]):
                return []
            case ast.Name(id=name) if name in self.known:
                return self.known[name]
            case ast.Attribute(attr=name) if name in CONSTANTS:
                return CONSTANTS[name]
            case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]):
                return float(text)
            case ast.Call(func=func, args=args, keywords=[]) if dotted(func) in MEASURES:
                return MEASURES[dotted(func)](*map(self.value, args))
        return constant(node)

    def run(self, statements: list[ast.stmt]) -> Iterator[ast.Assign | ast.Return]:
        """Follows statements as far as they are known; gives those that set or return a value."""
        for statement in statements:
            for one in self._step(statement):
                yield one
                if isinstance(one, ast.Return):
                    return

    def _step(self, statement: ast.stmt) -> Iterator[ast.Assign | ast.Return]:
        if isinstance(statement, ast.If):
            try:
                taken = statement.body if self.value(statement.test) else statement.orelse
            except NotKnown:
                self._forget(statement)
            else:
                yield from self.run(taken)
        elif isinstance(statement, ast.Assign | ast.Return):
            self._learn(statement)
            yield statement
        else:
            self._forget(statement)

    def _forget(self, statement: ast.stmt) -> None:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self.known.pop(node.id, None)

    def _learn(self, statement: ast.Assign | ast.Return) -> None:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            return
        name = statement.targets[0].id
        self.known.pop(name, None)
        with suppress(NotKnown):
            self.known[name] = self.value(statement.value)


def carried_on(source: Source, tried: Tries) -> StandIn | None:
    """The last number that comes of sums and lists which a `try` was to fill, and never did.

    They keep what they began with; what the function computes of them after its loop is followed
    as far as it needs nothing else.
    """
    function = source.scope_of(tried)
    if not isinstance(function, ast.FunctionDef):
        return None
    loops = [outer for outer in within_function(source, tried) if isinstance(outer, Loop)]
    outermost = loops[-1] if loops else tried
    begun = began(function, outermost, filled(tried))
    if not begun:
        return None
    names = Names(begun)
    found: StandIn | None = None
    for statement in names.run(statements_after(source, outermost)):
        found = stand_in(source, statement, names, function.name) or found
    return found


def stand_in(
    source: Source, statement: ast.Assign | ast.Return, names: Names, function: str
) -> StandIn | None:
    place = Place(source.file, statement.lineno, statement.end_lineno)
    name, known = "", None
    match statement:
        case ast.Assign(targets=[ast.Name(id=name), *_]):
            known = names.known.get(name)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Tuple | ast.Name):
            with suppress(NotKnown):
                known = names.value(value)
    if not is_number(known):
        return None
    return StandIn(name, float(known), place, "" if name else function)


def is_number(value: Known) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def filled(tried: Tries) -> set[str]:
    """Names that the `try` adds to."""
    found: set[str] = set()
    for statement in tried.body:
        for node in ast.walk(statement):
            match node:
                case (
                    ast.AugAssign(target=ast.Name(id=name))
                    | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"))
                ):
                    found.add(name)
    return found


def began(function: ast.FunctionDef, before: ast.stmt, names: set[str]) -> dict[str, Known]:
    """What these names are given before a statement, where that is a constant or an empty list."""
    found: dict[str, Known] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and node.lineno < before.lineno:
            for target, value in (pair for one in node.targets for pair in pairs(one, node.value)):
                if isinstance(target, ast.Name) and target.id in names:
                    try:
                        found[target.id] = Names({}).value(value)
                    except NotKnown:
                        found.pop(target.id, None)
    return found


def statements_after(source: Source, statement: ast.stmt) -> list[ast.stmt]:
    """Those behind it in its block, then behind the statement that this block is of, and so on."""
    found: list[ast.stmt] = []
    inner: ast.AST = statement
    for outer in source.up(statement):
        for _, members in ast.iter_fields(outer):
            if isinstance(members, list) and inner in members:
                found += members[members.index(inner) + 1 :]
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            break
        inner = outer
    return found
