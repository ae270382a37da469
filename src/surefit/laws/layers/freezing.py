"""Where the user's source switches gradients of parameters off, and what its optimizers train."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.recording import Recording
from surefit.source.edits import removed
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True)
class Freezing:
    """A statement that sets `requires_grad` to False; of a loop over parameters, the inner line."""

    source: Source
    statement: ast.stmt

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.statement.lineno, self.statement.end_lineno)

    @property
    def without(self) -> Edit | None:
        shared = shares_lines(self.source, self.statement)
        return None if shared else removed(self.source, self.statement)


def freezing_in(recording: Recording) -> Iterator[Freezing]:
    for source, statement in recording.every(ast.stmt):
        if is_set_to(value_set(statement), False):
            yield Freezing(source, statement)
        for caller in callers_with(source, statement, False):
            yield Freezing(source, caller)


def value_set(statement: ast.stmt) -> ast.expr | None:
    """What `requires_grad` becomes, by an assignment or by `requires_grad_`."""
    match statement:
        case ast.Assign(targets=[ast.Attribute(attr="requires_grad"), *_], value=value) | ast.Expr(
            ast.Call(func=ast.Attribute(attr="requires_grad_"), args=[value, *_])
        ):
            return value
    return None


def is_set_to(value: ast.expr | None, flag: bool) -> bool:
    return isinstance(value, ast.Constant) and value.value is flag


def callers_with(source: Source, statement: ast.stmt, flag: bool) -> Iterator[ast.stmt]:
    """Calls with this flag for the argument of a function that sets `requires_grad` to it."""
    value, function = value_set(statement), source.scope_of(statement)
    if not isinstance(value, ast.Name) or not isinstance(function, ast.FunctionDef):
        return
    names = arguments_of(function)
    if value.id not in names or not isinstance(source.bound_by(value)[0], ast.arg):
        return
    for call in source.calls_named(function.name):
        if is_set_to(source.argument(call, value.id, names.index(value.id)), flag):
            yield source.statement_of(call)


def arguments_of(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in function.args.args if argument.arg != "self"]


def freezing_call(recording: Recording, freezing: Freezing) -> Freezing:
    """The only call of a function that freezes whatever module it is given: there it was chosen."""
    function = freezing.source.scope_of(freezing.statement)
    if not isinstance(function, ast.FunctionDef) or not freezes_an_argument(freezing, function):
        return freezing
    calls = [
        Freezing(source, source.statement_of(call))
        for source in recording.sources()
        for call in source.calls_named(function.name)
    ]
    return calls[0] if len(calls) == 1 else freezing


def freezes_an_argument(freezing: Freezing, function: ast.FunctionDef) -> bool:
    """`for p in module.parameters(): ...` or `module.requires_grad_(False)`."""
    statement = freezing.statement
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For)]
    frozen = next((loop.iter for loop in loops if statement in loop.body), statement)
    owners = [node.value for node in ast.walk(frozen) if isinstance(node, ast.Attribute)]
    names = [owner.id for owner in owners if isinstance(owner, ast.Name)]
    return len(owners) == 1 and len(names) == 1 and names[0] in arguments_of(function)


def optimized_modules(recording: Recording) -> Iterator[tuple[Source, ast.stmt, str]]:
    """A part of a model that an optimizer was given: `Adam(model.head.parameters())`."""
    for source in recording.sources():
        for call in source.every(ast.Call):
            match source.argument(call, "params", 0):
                case ast.Call(func=ast.Attribute(value=ast.Attribute() as part, attr="parameters")):
                    statement = source.statement_of(call)
                    optimizes = source.imported(call.func).startswith("torch.optim.")
                    if optimizes and not shares_lines(source, statement):
                        yield source, statement, source.segment(part)
