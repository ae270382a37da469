"""Changes of whole lines: statements put in, taken out, and moved within their block."""

import ast
from collections.abc import Iterable, Iterator, Sequence

from surefit.source.patches import Edit, Replace
from surefit.source.reading import Definition, Function, Source
from surefit.source.spans import Span


def inserted_after(source: Source, statement: ast.stmt, text: str) -> Edit:
    """Lines behind a statement, indented as it is."""
    refuse_shared_lines(source, statement)
    line = (statement.end_lineno or statement.lineno) + 1
    return Edit(source.file, (put_at(source, line, indented(source, statement, text)),))


def inserted_before(source: Source, statement: ast.stmt, text: str) -> Edit:
    refuse_shared_lines(source, statement)
    line = first_line(statement)
    return Edit(source.file, (put_at(source, line, indented(source, statement, text)),))


def with_function(source: Source, call: ast.Call, text: str) -> Edit | None:
    """A function of the module, before the statement of the module that a call is in."""
    chain = [node for node in source.up(call) if isinstance(node, ast.stmt)]
    if not chain or shares_lines(source, chain[-1]):
        return None
    return inserted_before(source, chain[-1], f"{text}\n\n")


def removed(source: Source, statement: ast.stmt) -> Edit:
    """A statement with its lines; the only one of a block becomes `pass`."""
    refuse_shared_lines(source, statement)
    block = block_of(source, statement)
    if len(block) == 1 and not isinstance(source.parents[statement], ast.Module):
        return Edit(source.file, (Replace(source.span(statement), "pass"),))
    return Edit(source.file, (Replace(lines_span(statement), ""),))


def moved_after(source: Source, statement: ast.stmt, after: ast.stmt) -> Edit | None:
    """A statement's lines behind those of another in the same block.

    None where that would change more than the order: a name it binds is used in between, the way
    there can be left by `return`, `break`, `continue` or `raise`, or lines are shared.
    """
    block = block_of(source, statement)
    if after not in block or after is statement or shares_lines(source, statement):
        return None
    if shares_lines(source, after):
        return None
    here, there = block.index(statement), block.index(after)
    passed = block[here + 1 : there + 1] if here < there else block[there + 1 : here]
    if not passed or leaves(passed) or bound_by(statement) & used_by(source, passed):
        return None
    span = lines_span(statement)
    text = "\n".join(source.lines[span.line - 1 : span.end_line - 1])
    line = (after.end_lineno or after.lineno) + 1
    return Edit(source.file, (Replace(span, ""), put_at(source, line, text)))


def moved_together(source: Source, statements: Sequence[ast.stmt], after: ast.stmt) -> Edit | None:
    """Several statements behind a later one of their block, with what in between needs the names
    that they bind; None under the conditions of `moved_after`."""
    block = block_of(source, statements[0])
    if after not in block or any(known not in block for known in statements):
        return None
    there, moved = block.index(after), list(statements)
    for known in block[block.index(moved[0]) + 1 : there]:
        names = set[str]().union(*(bound_by(other) for other in moved))
        if known not in moved and names & used_by(source, [known]):
            moved.append(known)
    passed = [known for known in block[block.index(moved[0]) : there + 1] if known not in moved]
    names = set[str]().union(*(bound_by(known) for known in moved))
    plain = all(isinstance(known, ast.Assign | ast.AnnAssign) for known in moved)
    shared = any(shares_lines(source, known) for known in (*moved, after))
    if not plain or shared or leaves(passed) or names & used_by(source, [after]):
        return None
    spans = [lines_span(known) for known in sorted(moved, key=block.index)]
    text = "\n".join("\n".join(source.lines[span.line - 1 : span.end_line - 1]) for span in spans)
    line = (after.end_lineno or after.lineno) + 1
    taken = tuple(Replace(span, "") for span in spans)
    return Edit(source.file, (*taken, put_at(source, line, text)))


def put_at(source: Source, line: int, text: str) -> Replace:
    """Lines before the line of this number, with the line ends that the file has."""
    text = source.newline.join(text.split("\n"))
    if line <= len(source.lines):
        return Replace(Span(line, 0, line, 0), text + source.newline)
    if source.text.endswith(("\n", "\r")):
        return Replace(Span(line, 0, line, 0), text + source.newline)
    last, column = len(source.lines), len(source.lines[-1])
    return Replace(Span(last, column, last, column), source.newline + text)


def indented(source: Source, statement: ast.stmt, text: str) -> str:
    before = source.lines[statement.lineno - 1][: source.span(statement).column]
    lines = text.rstrip("\n").split("\n")
    return "\n".join(before + line if line.strip() else "" for line in lines)


def lines_span(statement: ast.stmt) -> Span:
    return Span(first_line(statement), 0, (statement.end_lineno or statement.lineno) + 1, 0)


def first_line(statement: ast.stmt) -> int:
    """That of its first decorator, if it has one."""
    decorators = statement.decorator_list if isinstance(statement, Definition) else []
    return min([statement.lineno, *(one.lineno for one in decorators)])


def refuse_shared_lines(source: Source, statement: ast.stmt) -> None:
    if shares_lines(source, statement):
        raise ValueError(f"the statement at line {statement.lineno} shares its lines with others")


def shares_lines(source: Source, statement: ast.stmt) -> bool:
    """Something other than a comment stands before or behind it on its lines."""
    span = source.span(statement)
    before = source.lines[span.line - 1][: span.column].removeprefix("\ufeff").strip()
    behind = source.lines[span.end_line - 1][span.end_column :].strip()
    return bool(before) or (bool(behind) and not behind.startswith("#"))


def block_of(source: Source, statement: ast.stmt) -> list[ast.stmt]:
    """The statements among which it stands, itself too."""
    for _, value in ast.iter_fields(source.parents[statement]):
        if isinstance(value, list) and statement in value:
            return value
    return [statement]


def leaves(statements: Iterable[ast.stmt]) -> bool:
    leaving = ast.Return | ast.Break | ast.Continue | ast.Raise
    return any(isinstance(node, leaving) for node in run_at_once(statements))


def run_at_once(statements: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """Nodes that run when the statements do: not the inside of functions that they define."""
    open_nodes: list[ast.AST] = list(statements)
    while open_nodes:
        node = open_nodes.pop()
        yield node
        if not isinstance(node, Function):
            open_nodes += ast.iter_child_nodes(node)


def bound_by(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(one.asname or one.name).partition(".")[0] for one in statement.names}
    return {
        node.id
        for node in run_at_once([statement])
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }


def used_by(source: Source, statements: Sequence[ast.stmt]) -> set[str]:
    """Every name that running the statements can touch, through functions of the file, too; names
    of a function through those alone that are defined inside of it."""
    found: set[str] = set()
    open_nodes = list(run_at_once(statements))
    scope = source.scope_of(statements[0]) if statements else source.tree
    while open_nodes:
        node = open_nodes.pop()
        name = name_of(node)
        if name and name not in found:
            found.add(name)
            for definition in source.definitions.get(name, ()):
                if scope is source.tree or scope in source.up(definition):
                    open_nodes += ast.walk(definition)
    return found


def name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
