"""Imports that come and go with a change."""

import ast
from collections.abc import Iterator

from surefit.source.comma_lists import names, put_in, taken_out
from surefit.source.line_edits import first_line, put_at, removed, shares_lines
from surefit.source.patches import Edit, Replace, both
from surefit.source.reading import Definition, Source


def with_import(edit: Edit, source: Source, module: str, name: str | None) -> Edit:
    """The edit with `from module import name`, or `import module`, unless the file has that.

    An import of other names from the same module is extended; otherwise a line is added behind
    the last import that stands before the change.
    """
    line = first_changed_line(edit, source)
    if name is None:
        found = has_module(source, module)
        return edit if found else both(edit, import_line(source, line, f"import {module}"))
    statements = [one for one in visible(source, line) if comes_from(one, module)]
    if any(alias.name == name and not alias.asname for one in statements for alias in one.names):
        return edit
    for statement in statements:
        if statement.names[0].name != "*":
            change = put_in(source, names(source, statement), name)
            return both(edit, Edit(source.file, (change,)))
    return both(edit, import_line(source, line, f"from {module} import {name}"))


def import_replaced(edit: Edit, source: Source, call: ast.Call, module: str, name: str) -> Edit:
    """The import that a call of `name` needs, in place of the one that it needed before."""
    needs_import = written_as(source, call, module, name) == name
    old = import_of_callee(source, call)
    if old is None:
        return with_import(edit, source, module, name) if needs_import else edit
    statement, number = old
    with_new = with_import(edit, source, module, name) if needs_import else edit
    if with_new != edit and comes_from(statement, module):
        change = Replace(source.span(statement.names[number]), name)
        return both(edit, Edit(source.file, (change,)))
    return both(with_new, without_name(source, statement, number))


def without_name(source: Source, statement: ast.ImportFrom, number: int) -> Edit:
    if len(statement.names) > 1:
        changes = taken_out(source, names(source, statement), {number})
        return Edit(source.file, tuple(changes))
    if shares_lines(source, statement):
        return Edit(source.file, ())
    return removed(source, statement)


def import_of_callee(source: Source, call: ast.Call) -> tuple[ast.ImportFrom, int] | None:
    """The import of the called name, if nothing else in the file uses that name."""
    if not isinstance(call.func, ast.Name):
        return None
    name = call.func.id
    if any(
        (isinstance(node, ast.Name) and node.id == name and node is not call.func)
        or (isinstance(node, ast.Constant) and node.value == name)
        for node in source.nodes
    ):
        return None
    found = [
        (statement, number)
        for statement in source.nodes
        if isinstance(statement, ast.ImportFrom)
        for number, alias in enumerate(statement.names)
        if (alias.asname or alias.name) == name
    ]
    return found[0] if len(found) == 1 else None


def written_as(source: Source, call: ast.Call, module: str, name: str) -> str:
    """The new callee in the way that the old one was written: `transformers.Trainer`, `Trainer`."""
    if isinstance(call.func, ast.Attribute) and source.imported(call.func.value) == module:
        return f"{source.segment(call.func.value)}.{name}"
    for statement in visible(source, call.lineno):
        for alias in statement.names if comes_from(statement, module) else ():
            if alias.name == name and alias.asname:
                return alias.asname
    return name


def has_module(source: Source, module: str) -> bool:
    return any(
        alias.name == module and not alias.asname
        for statement in source.tree.body
        if isinstance(statement, ast.Import)
        for alias in statement.names
    )


def comes_from(statement: ast.ImportFrom, module: str) -> bool:
    return statement.level == 0 and statement.module == module


def visible(source: Source, line: int) -> Iterator[ast.ImportFrom]:
    """`from` imports above a line: of the module itself, and of the functions around the line."""
    for node in source.nodes:
        if not isinstance(node, ast.ImportFrom) or node.lineno >= line:
            continue
        parent = source.parents[node]
        if isinstance(parent, ast.Module) or (
            isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef)
            and parent.lineno <= line <= (parent.end_lineno or 0)
        ):
            yield node


def first_changed_line(edit: Edit, source: Source) -> int:
    return min((change.span.line for change in edit.changes), default=len(source.lines) + 1)


def import_line(source: Source, line: int, text: str) -> Edit:
    """Behind the last import above a line that no function or class comes before."""
    imports = []
    body = source.tree.body
    for statement in body:
        if isinstance(statement, Definition) or (statement.end_lineno or 0) >= line:
            break
        if isinstance(statement, ast.Import | ast.ImportFrom):
            imports.append(statement)
    if imports:
        change = put_at(source, (imports[-1].end_lineno or 0) + 1, text)
    elif body and is_docstring(body[0]):
        change = put_at(source, (body[0].end_lineno or 0) + 1, f"\n{text}")
    else:
        change = put_at(source, first_line(body[0]) if body else 1, text)
    return Edit(source.file, (change,))


def is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
