"""Layers that are made anew, as wide as whatever arrives, in place of one with a declared width."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.source.origins import origin
from surefit.source.reading import Source, called, dotted

WIDTHS = {
    "Linear": ("in_features", 0),
    "Conv1d": ("in_channels", 0),
    "Conv2d": ("in_channels", 0),
    "LSTM": ("input_size", 0),
    "GRU": ("input_size", 0),
}
"""Kinds of layers, and the argument that declares what goes in."""
LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, slots=True)
class Fitted:
    """An assignment that makes a layer to fit, and what shows that another width was declared."""

    source: Source
    statement: ast.Assign
    call: ast.Call
    width: ast.expr
    """As it is written: `batch.shape[-1]`."""
    declared: ast.Assign | None
    """The other assignment of that name."""
    how: str

    @property
    def name(self) -> str:
        return dotted(self.statement.targets[0])

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.statement.lineno, self.statement.end_lineno)

    @property
    def declared_width(self) -> ast.expr | None:
        layer = layer_in(self.source, self.declared.value) if self.declared else None
        return layer[1] if layer else None


def fitted_layers(source: Source) -> Iterator[Fitted]:
    """Only where the source itself compares, catches or replaces a declared width."""
    for statement in source.every(ast.Assign):
        name = dotted(statement.targets[0]) if len(statement.targets) == 1 else ""
        layer = layer_in(source, statement.value) if name else None
        if layer is None or not is_of_data(source, layer[1]):
            continue
        call, width = layer
        declared = declared_before(source, statement, name)
        how = why_it_is_made(source, statement, name, width, declared)
        if how:
            yield Fitted(source, statement, call, width, declared, how)


def fitted_at(source: Source | None, place: Place | None) -> Fitted | None:
    """The one that a line makes."""
    line = place.line if place else None
    for one in fitted_layers(source) if source and line else ():
        if one.statement.lineno <= (line or 0) <= (one.statement.end_lineno or 0):
            return one
    return None


def layer_in(source: Source, value: ast.expr) -> tuple[ast.Call, ast.expr] | None:
    """`nn.Linear(width, ...)`, also with `.to(device)` behind it; the call and the width."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if source.imported(value.func).startswith("torch.nn."):
            break
        value = value.func.value
    if not isinstance(value, ast.Call) or called(value) not in WIDTHS:
        return None
    if not source.imported(value.func).startswith("torch.nn."):
        return None
    width = source.argument(value, *WIDTHS[called(value)])
    return (value, width) if width is not None else None


def is_of_data(source: Source, width: ast.expr) -> bool:
    """`x.shape[-1]`, `x.size(-1)`, or a name for that."""
    match origin(source, width):
        case ast.Subscript(value=ast.Attribute(attr="shape", value=value)):
            return not is_weight(value)
        case ast.Call(func=ast.Attribute(attr="size", value=value), args=[_]):
            return not is_weight(value)
    return False


def is_weight(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("weight", "bias")


def declared_before(source: Source, fitted: ast.Assign, name: str) -> ast.Assign | None:
    """Another assignment that makes a layer under this name, with a width of its own."""
    for other in source.every(ast.Assign):
        if other is fitted or not any(is_name(one, name, source, fitted) for one in other.targets):
            continue
        layer = layer_in(source, other.value)
        if layer is not None and not is_of_data(source, layer[1]):
            return other
    return None


def is_name(target: ast.expr, name: str, source: Source, fitted: ast.Assign) -> bool:
    """The same binding: an attribute by its name, a plain name where both stand in one scope."""
    if dotted(target) != name:
        return False
    if isinstance(target, ast.Name):
        mine = fitted.targets[0]
        return isinstance(mine, ast.Name) and source.bound_by(target) == source.bound_by(mine)
    return True


def why_it_is_made(
    source: Source, fitted: ast.Assign, name: str, width: ast.expr, declared: ast.Assign | None
) -> str:
    """In words; empty where nothing shows that another width was meant."""
    inner: ast.AST = fitted
    for outer in source.up(fitted):
        if isinstance(outer, ast.If) and compares(source, outer, inner, name, width, declared):
            return f"only where {source.segment(outer.test)}"
        if isinstance(outer, ast.ExceptHandler) and declared is not None:
            tried = source.parents[outer]
            if isinstance(tried, ast.Try) and calls(tried.body, name):
                return f"where `{name}` has failed"
        if isinstance(outer, LOOPS) and declared is not None and is_over_batches(source, outer):
            return "for every batch" if declared not in ast.walk(outer) else ""
        if isinstance(outer, ast.FunctionDef | ast.ClassDef):
            break
        inner = outer
    return ""


def is_over_batches(source: Source, loop: ast.AST) -> bool:
    """A step of training is in it, and no optimizer is made: not one experiment after another."""
    made = [one for one in ast.walk(loop) if isinstance(one, ast.Call)]
    steps = any(called(one) == "backward" for one in made)
    return steps and not any(source.imported(one.func).startswith("torch.optim") for one in made)


def compares(
    source: Source,
    guard: ast.If,
    inner: ast.AST,
    name: str,
    width: ast.expr,
    declared: ast.Assign | None,
) -> bool:
    """The data's width against that of the layer, or against a number where one is declared."""
    match guard.test:
        case ast.Compare(left=left, ops=[ast.NotEq() | ast.Eq() as op], comparators=[right]):
            differs = isinstance(op, ast.NotEq)
        case _:
            return False
    if (inner in guard.body) is not differs:
        return False
    meant = ast.dump(origin(source, width))
    for one, other in ((left, right), (right, left)):
        if ast.dump(origin(source, one)) == meant:
            return declared is not None or is_width_of(origin(source, other), name)
    return False


def is_width_of(node: ast.expr, name: str) -> bool:
    """`projection.in_features`, `projection.weight.shape[1]`."""
    if isinstance(node, ast.Subscript):
        node = node.value
    return dotted(node).startswith(f"{name}.")


def calls(block: list[ast.stmt], name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and dotted(node.func) == name
        for statement in block
        for node in ast.walk(statement)
    )
