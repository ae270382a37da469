"""Where a script computes the numbers that it scales its inputs by, and where it takes the training
rows of the same array."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.laws.evaluation.evaluation_names import TRAINED, words_of
from surefit.source.classes import pairs
from surefit.source.reading import Source, called, names_within, targets

LOCATION = frozenset(
    ("mean", "nanmean", "average", "median", "min", "amin", "fit", "fit_transform")
)
WIDTH = frozenset(
    ("std", "nanstd", "var", "max", "amax", "ptp", "quantile", "fit", "fit_transform")
)
FUNCTIONS = ("numpy", "torch")


@dataclass(frozen=True, slots=True)
class Scaling:
    """Calls that reduce all rows of one array."""

    source: Source
    name: str
    calls: tuple[ast.Call, ...]

    @property
    def owners(self) -> list[ast.expr]:
        """`x` of `x.mean(0)`, of `np.mean(x, axis=0)` and of `scaler.fit_transform(x)`."""
        return [owner for call in self.calls if (owner := reduced(self.source, call)) is not None]


def scalings(source: Source, names: tuple[str, ...]) -> list[Scaling]:
    """Those of arrays with these names first."""
    by_array: dict[tuple[ast.AST, str], list[ast.Call]] = {}
    for node in source.every(ast.Call):
        if called(node) in LOCATION | WIDTH and not is_of_a_model(source, node):
            name = name_of(reduced(source, node))
            if name:
                by_array.setdefault((source.scope_of(node), name), []).append(node)
    found = [
        Scaling(source, name, tuple(calls))
        for (_, name), calls in by_array.items()
        if any(called(call) in LOCATION for call in calls)
        if any(called(call) in WIDTH for call in calls)
    ]
    return sorted(found, key=lambda scaling: scaling.name not in names)


def is_of_a_model(source: Source, node: ast.AST) -> bool:
    """Inside a loop, or a method that is called with each batch."""
    if any(True for _ in source.loops_around(node)):
        return True
    return getattr(source.scope_of(node), "name", "") in ("forward", "__getitem__", "training_step")


def reduced(source: Source, call: ast.Call) -> ast.expr | None:
    if called(call) in ("fit", "fit_transform"):
        return call.args[0] if call.args else None
    if source.imported(call.func).startswith(FUNCTIONS):
        return call.args[0] if call.args else None
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def name_of(owner: ast.expr | None) -> str:
    """`frame` of `frame[columns]`, too."""
    match owner:
        case ast.Name(id=name):
            return name
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Name() | ast.List()):
            return name
    return ""


def training_rows(scaling: Scaling, trained: str) -> ast.Subscript | None:
    """`x[:900]`, taken of the array after it was scaled, by names that were bound before that."""
    source, first = scaling.source, scaling.calls[0]
    scope = source.scope_of(first)
    for node in taken(source, scope, scaling.name):
        statement = source.statement_of(node)
        if statement.lineno < max(call.lineno for call in scaling.calls):
            continue
        name = bound_to(source, statement, node)
        if name == trained or words_of(name) & TRAINED or (is_head(node) and not name):
            return node
    return None


def is_head(node: ast.Subscript) -> bool:
    """`x[:900]`"""
    return isinstance(node.slice, ast.Slice) and node.slice.lower is None


def taken(source: Source, scope: ast.AST, name: str) -> Iterator[ast.Subscript]:
    every = [
        node
        for node in source.every(ast.Subscript)
        if isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name)
        if node.value.id == name and source.scope_of(node) is scope
    ]
    yield from sorted(every, key=lambda node: (node.lineno, node.col_offset))


def bound_to(source: Source, statement: ast.stmt, node: ast.expr) -> str:
    """The target of the part of an assignment in which it stands; empty where that is unclear."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return ""
    parts = pairs(targets(statement)[0], statement.value)
    part = next((part for part, own in parts if node in ast.walk(own)), None)
    return source.segment(part) if part is not None and not isinstance(part, ast.Tuple) else ""


def bound_late(scaling: Scaling, rows: ast.Subscript) -> list[ast.stmt]:
    """Statements after the scaling that bind what the training rows are chosen by."""
    source, first = scaling.source, scaling.calls[0]
    scope = source.scope_of(first)
    every = [
        given
        for name in names_within(rows.slice)
        for given in source.assignments(name, scope)
        if given.lineno > source.statement_of(first).lineno
    ]
    return sorted(every, key=lambda given: given.lineno)


def is_read_between(scaling: Scaling, last: ast.stmt) -> bool:
    """The array, for more than its length."""
    source, first = scaling.source, source_line(scaling)
    for name in source.names_read.get(scaling.name, []):
        parent = source.parents.get(name)
        length = isinstance(parent, ast.Call) and called(parent) == "len"
        if first < name.lineno <= (last.end_lineno or last.lineno) and not length:
            return True
    return False


def source_line(scaling: Scaling) -> int:
    statement = scaling.source.statement_of(scaling.calls[-1])
    return statement.end_lineno or statement.lineno
