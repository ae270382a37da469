"""Another name of a library wherever the file uses the old one: imports, attributes, methods."""

import ast
from collections.abc import Mapping

from surefit.laws.contracts.library_names import WantedNames, attributes_of
from surefit.laws.libraries.name_successors import NOT_TAKEN_BY_TORCH, RIGHT_SIDE_FIRST
from surefit.source.edits import argument_removed, replaced, with_import
from surefit.source.patches import Edit, Replace, both
from surefit.source.reading import Source, called
from surefit.source.spans import Span


def renamed(wanted: WantedNames, instead: Mapping[str, str]) -> Edit | None:
    """Every name that has something in its place."""
    node = wanted.node
    if isinstance(node, ast.ImportFrom):
        return imported(wanted.source, node, instead)
    source = wanted.source
    nodes = [node] if wanted.of_value else list(attributes_of(source, wanted.owner))
    edit = Edit(source.file, ())
    for attribute in nodes:
        new = instead.get(attribute.attr)
        if new:
            edit = both(edit, attribute_renamed(source, attribute, wanted.owner, new))
    return edit


def imported(source: Source, statement: ast.ImportFrom, instead: Mapping[str, str]) -> Edit | None:
    """The import without these names, and one for each of them from where it is now."""
    if any("." not in new for new in instead.values()):
        return None
    lines = [
        f"from {new.rpartition('.')[0]} import {written(new, alias)}"
        for alias in statement.names
        if (new := instead.get(alias.name))
    ]
    stay = [alias for alias in statement.names if alias.name not in instead]
    if stay:
        lines.append(f"from {statement.module} import {', '.join(map(source.segment, stay))}")
    indent = " " * source.span(statement).column
    edit = replaced(source, statement, f"\n{indent}".join(lines))
    for alias in statement.names:
        if instead.get(alias.name, "").startswith("torch.optim."):
            edit = as_torch_takes_it(source, edit, alias.asname or alias.name)
    return edit


def written(new: str, alias: ast.alias) -> str:
    """Under the name that the script has for it."""
    last, name = new.rpartition(".")[2], alias.asname or alias.name
    return last if last == name else f"{last} as {name}"


def as_torch_takes_it(source: Source, edit: Edit, name: str) -> Edit:
    """Calls of an optimizer without an argument that torch's own does not take."""
    for call in source.every(ast.Call):
        others = [word.arg for word in call.keywords if word.arg in NOT_TAKEN_BY_TORCH]
        if called(call) == name and len(others) == 1 and others[0]:
            edit = both(edit, argument_removed(source, call, others[0]))
    return edit


def attribute_renamed(source: Source, node: ast.Attribute, owner: str, new: str) -> Edit:
    span = source.span(node)
    module, _, last = new.rpartition(".")
    if module in ("", owner) and (module or new.startswith(".")):
        start = span.end_column - len(node.attr)
        attribute = Span(span.end_line, start, span.end_line, span.end_column)
        return Edit(source.file, (Replace(attribute, last),))
    edit = replaced(source, node, last)
    return with_import(edit, source, module, last) if module else edit


def of_linear_algebra(source: Source, call: ast.Call, name: str, new: str) -> Edit | None:
    """`torch.linalg`, where both are called alike, or the right side comes first and the second
    result is not used."""
    statement = source.statement_of(call)
    text = f"{source.segment(call.func).rpartition('.')[0]}.{new.partition('.')[2]}"
    if name == "torch.matrix_rank":
        return replaced(source, call.func, text)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    pair = target.elts if isinstance(target, ast.Tuple) and len(target.elts) == 2 else []
    if name != RIGHT_SIDE_FIRST[0] or len(call.args) != 2 or call.keywords or len(pair) != 2:
        return None
    if not isinstance(pair[1], ast.Name) or is_read(source, pair[1].id):
        return None
    right, matrix = map(source.segment, call.args)
    return replaced(source, statement, f"{source.segment(pair[0])} = {text}({matrix}, {right})")


def is_read(source: Source, name: str) -> bool:
    loads = (node for node in source.every(ast.Name) if isinstance(node.ctx, ast.Load))
    return any(node.id == name for node in loads)
