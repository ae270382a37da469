"""Statements that make an optimizer and, in the same block after it, a layer of its model."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.evidence.hidden_layers import makes_module
from surefit.source.line_edits import block_of
from surefit.source.reading import Source, called, dotted

MOST_CALLERS = 3
"""How far a line inside functions is followed out to who calls them."""


@dataclass(frozen=True, slots=True)
class Late:
    """A layer that a statement gives to a model after another made the model's optimizer."""

    optimizer: ast.Assign
    layer: ast.Assign

    @property
    def name(self) -> str:
        return dotted(self.optimizer.targets[0])


def both_in_one_block(
    source: Source, first: Place, then: Place
) -> tuple[ast.stmt, ast.stmt] | None:
    """The statements of one block by which two lines are run, the first before the second; None
    where there is not exactly one such pair."""
    pairs = [
        (one, other)
        for one in runs(source, first)
        for other in runs(source, then)
        if other in (block := block_of(source, one))
        and other is not one
        and block.index(one) < block.index(other)
    ]
    return pairs[0] if len(pairs) == 1 else None


def runs(source: Source, place: Place) -> list[ast.stmt]:
    """The statement at a line, and those that call the function or class that it stands in."""
    statement = source.statement_at(place.line or 0)
    found = [statement] if statement else []
    newest = list(found)
    for _ in range(MOST_CALLERS):
        names = {name for one in newest if (name := name_around(source, one))}
        newest = [one for one in callers(source, names) if one not in found]
        found += newest
    return found


def name_around(source: Source, statement: ast.stmt) -> str:
    """The function that a statement is in; of an `__init__`, the class."""
    scope = source.scope_of(statement)
    if not isinstance(scope, ast.FunctionDef):
        return ""
    owner = source.parents.get(scope)
    if scope.name == "__init__" and isinstance(owner, ast.ClassDef):
        return owner.name
    return scope.name


def callers(source: Source, names: set[str]) -> Iterator[ast.stmt]:
    for call in source.every(ast.Call):
        if called(call) in names:
            yield source.statement_of(call)


def late_layers(source: Source) -> Iterator[Late]:
    """As the source alone shows it for certain: the optimizer is first used after the layer."""
    if "add_param_group" in source.text:
        return
    for statement in source.every(ast.Assign):
        model = model_of(source, statement.value)
        if not model:
            continue
        block = block_of(source, statement)
        after = block[block.index(statement) + 1 :]
        layers = [layer for one in after if (layer := layer_of(source, one, model)) is not None]
        late = Late(statement, layers[-1]) if layers else None
        if late is not None and is_used_only_after(late, after) and not is_left_alone(source, late):
            yield late


def model_of(source: Source, value: ast.expr) -> str:
    """`model` in `torch.optim.Adam(model.parameters())`."""
    if not isinstance(value, ast.Call) or not source.imported(value.func).startswith(
        "torch.optim."
    ):
        return ""
    given = source.argument(value, "params", 0)
    if not isinstance(given, ast.Call) or not isinstance(given.func, ast.Attribute):
        return ""
    return dotted(given.func.value) if given.func.attr == "parameters" else ""


def layer_of(source: Source, statement: ast.stmt, model: str) -> ast.Assign | None:
    """The statement, if it gives the model a new layer."""
    match statement:
        case ast.Assign(targets=[ast.Attribute() as target], value=ast.Call() as call):
            if dotted(target).startswith(f"{model}.") and makes_module(source, call):
                return statement
    return None


def is_used_only_after(late: Late, after: list[ast.stmt]) -> bool:
    """One that steps before the layer is there belongs to an earlier stage."""
    there = after.index(late.layer)
    return not uses(after[:there], late.name) and uses(after[there + 1 :], late.name)


def uses(statements: list[ast.stmt], name: str) -> bool:
    return any(
        isinstance(node, ast.Name | ast.Attribute) and dotted(node) == name
        for statement in statements
        for node in ast.walk(statement)
    )


def is_left_alone(source: Source, late: Late) -> bool:
    """Something is frozen afterwards, another optimizer is made, or the layer's parameters are
    asked for by themselves."""
    name = dotted(late.layer.targets[0])
    for node in ast.walk(source.scope_of(late.optimizer)):
        if getattr(node, "lineno", 0) <= late.optimizer.lineno:
            continue
        if isinstance(node, ast.Call) and is_optimizer(source, node):
            return True
        if isinstance(node, ast.Attribute):
            if node.attr in ("requires_grad", "requires_grad_"):
                return True
            if node.attr == "parameters" and dotted(node.value).startswith(name):
                return True
    return False


def is_optimizer(source: Source, call: ast.Call) -> bool:
    full = source.imported(call.func)
    return full.startswith("torch.optim.") and ".lr_scheduler." not in full
