"""`teacher.eval()` where a model is created, or before it is called."""

import ast
from collections.abc import Iterator

from surefit.laws.training.rounds import outermost_loop
from surefit.laws.training.teachers import Teacher
from surefit.source.classes import RETURNS_ITSELF, value_set
from surefit.source.edits import Edit, inserted_before
from surefit.source.line_edits import shares_lines
from surefit.source.reading import Source, dotted, targets


def before_the_call(teacher: Teacher) -> Edit | None:
    statement = teacher.source.statement_of(teacher.call)
    if shares_lines(teacher.source, statement):
        return None
    return inserted_before(teacher.source, statement, f"{teacher.name}.eval()")


def before_the_loop(teacher: Teacher) -> Edit | None:
    """Before the outermost loop around its call; None where there is none in its function."""
    loop = outermost_loop(teacher.source, teacher.call)
    if loop is None or shares_lines(teacher.source, loop):
        return None
    return inserted_before(teacher.source, loop, f"{teacher.name}.eval()")


def made_by(teacher: Teacher) -> ast.stmt | None:
    """The one statement that gives the teacher its name where it is made; of several the last of
    one block."""
    source = teacher.source
    bound = [one for name in teacher.nodes for one in assigned(source, name)]
    made = [one for one in bound if not isinstance(one.value, ast.Name | ast.Attribute)]
    made = [one for one in made if not is_itself(teacher, one)] or made
    if len(made) != 1:
        return None
    same = [one for one in bound if one.lineno > made[0].lineno and is_itself(teacher, one)]
    beside = [one for one in same if source.parents[one] is source.parents[made[0]]]
    return beside[-1] if beside else made[0]


def assigned(source: Source, node: ast.expr) -> Iterator[ast.Assign | ast.AnnAssign]:
    if isinstance(node, ast.Name):
        for one in source.bound_by(node):
            if isinstance(one, ast.Assign | ast.AnnAssign):
                yield one
    elif isinstance(node, ast.Attribute):
        for target in source.every(ast.Attribute):
            is_set = not isinstance(target.ctx, ast.Load) and dotted(target) == dotted(node)
            if is_set and value_set(source, target) is not None:
                statement = source.statement_of(target)
                if isinstance(statement, ast.Assign | ast.AnnAssign):
                    yield statement


def is_itself(teacher: Teacher, statement: ast.Assign | ast.AnnAssign) -> bool:
    """`teacher = teacher.to(device)`, or `accelerator.prepare(teacher, student)`."""
    value = statement.value
    func = value.func if isinstance(value, ast.Call) else None
    if not isinstance(value, ast.Call) or not isinstance(func, ast.Attribute):
        return False
    if func.attr == "prepare":
        return any(dotted(one) in teacher.names for one in value.args)
    return func.attr in RETURNS_ITSELF and dotted(func.value) in teacher.names


def name_made(teacher: Teacher, made: ast.stmt) -> str:
    """By which the next line knows it."""
    written = targets(made) if isinstance(made, ast.Assign | ast.AnnAssign) else []
    parts = [part for one in written for part in getattr(one, "elts", [one])]
    return next((dotted(one) for one in parts if dotted(one) in teacher.names), "")
