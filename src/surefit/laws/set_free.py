"""Where the user's source sets frozen parameters free, and how an optimizer gets them then."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.laws.creation_order import runs
from surefit.laws.freezing import arguments_of, is_false, value_set
from surefit.source.edits import inserted_after, replaced
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Source, called, dotted

ADDED = """\
held = {{id(weight) for group in {optimizer}.param_groups for weight in group["params"]}}
free = [weight for weight in {model}.parameters() if weight.requires_grad]
{optimizer}.add_param_group({{"params": [weight for weight in free if id(weight) not in held]}})"""


@dataclass(frozen=True, slots=True)
class Freeing:
    """A statement that sets `requires_grad`, with the loops over what it sets it on."""

    source: Source
    statement: ast.stmt

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.statement.lineno, self.statement.end_lineno)

    @property
    def part(self) -> str:
        """`model.backbone`, where it is all parameters of that."""
        match self.statement:
            case ast.For(iter=ast.Call(func=ast.Attribute(value=part, attr="parameters"), args=[])):
                plain = len(self.statement.body) == 1 and isinstance(
                    self.statement.body[0], ast.Assign | ast.Expr
                )
                return dotted(part) if plain else ""
            case ast.Expr(ast.Call(func=ast.Attribute(value=part, attr="requires_grad_"))):
                return dotted(part)
        return ""


def freeing_in(source: Source) -> Iterator[Freeing]:
    for statement in source.every(ast.stmt):
        value = value_set(statement)
        match statement:
            case ast.Expr(ast.Call(func=ast.Attribute(attr="requires_grad_"), args=[])):
                yield Freeing(source, with_loops(source, statement))
        if value is None or is_false(value):
            continue
        calls = list(callers_with_true(source, statement, value))
        for caller in calls:
            yield Freeing(source, caller)
        if not calls:
            yield Freeing(source, with_loops(source, statement))


def callers_with_true(source: Source, statement: ast.stmt, value: ast.expr) -> Iterator[ast.stmt]:
    """Calls with True for the argument that `requires_grad` becomes."""
    function = source.scope_of(statement)
    if not isinstance(value, ast.Name) or not isinstance(function, ast.FunctionDef):
        return
    names = arguments_of(function)
    for call in source.every(ast.Call) if value.id in names else ():
        argument = source.argument(call, value.id, names.index(value.id))
        if called(call) == function.name and isinstance(argument, ast.Constant) and argument.value:
            yield source.statement_of(call)


def with_loops(source: Source, statement: ast.stmt) -> ast.stmt:
    """The outermost loop whose variable the statement needs, or a loop inside it."""
    outermost = statement
    for node in source.up(statement):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            break
        if isinstance(node, ast.For) and names_in(node.target) & names_in(outermost):
            outermost = node
    return outermost


def names_in(node: ast.AST) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}


def freed_after(source: Source, created: ast.stmt) -> Freeing | None:
    """The statement that runs after an optimizer is created, in its function or called from there:
    the first where there are several."""
    for freeing in freeing_in(source):
        if caller_after(freeing, created) is not None:
            return freeing
    return None


def caller_after(freeing: Freeing, created: ast.stmt) -> ast.stmt | None:
    """The statement in the function of the optimizer by which parameters are set free."""
    source, statement = freeing.source, freeing.statement
    ways = [statement, *runs(source, Place(source.file, statement.lineno))]
    scope, end = source.scope_of(created), created.end_lineno or created.lineno
    later = [way for way in ways if source.scope_of(way) is scope and way.lineno > end]
    return later[0] if later else None


def added_to(freeing: Freeing, created: ast.stmt, name: str, part: str) -> Edit | None:
    """`optimizer.add_param_group(...)` behind that statement; `part`: what the optimizer holds
    nothing of yet."""
    source, after = freeing.source, caller_after(freeing, created)
    if after is None or shares_lines(source, after):
        return None
    if part and after is freeing.statement:
        text = f'{name}.add_param_group({{"params": {part}.parameters()}})'
        return inserted_after(source, after, text)
    model = filtered_model(created)
    text = ADDED.format(optimizer=name, model=model)
    return inserted_after(source, after, text) if model else None


def filtered_model(created: ast.stmt) -> str:
    """`model`, of whose parameters the optimizer was given those that require a gradient."""
    owners = {
        dotted(node.func.value)
        for node in ast.walk(created)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "parameters"
    }
    return owners.pop() if len(owners) == 1 else ""


def all_from_the_start(source: Source, created: ast.stmt) -> Edit | None:
    """`model.parameters()` in the place of a filter on `requires_grad`."""
    model = filtered_model(created)
    for call in ast.walk(created):
        given = source.argument(call, "params", 0) if isinstance(call, ast.Call) else None
        chooses = isinstance(given, ast.GeneratorExp | ast.ListComp) or (
            isinstance(given, ast.Call) and called(given) == "filter"
        )
        if given is not None and chooses and model and "requires_grad" in source.segment(given):
            return replaced(source, given, f"{model}.parameters()")
    return None
