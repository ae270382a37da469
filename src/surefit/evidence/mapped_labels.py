"""Functions that a script maps over its rows, and whether the labels they make stay ragged."""

import ast
from collections.abc import Iterator

from surefit.source.reading import Source, called


def label_makers(source: Source) -> Iterator[str]:
    """Functions given to `map` that tokenize without padding and copy `input_ids` to `labels`."""
    for call in source.nodes:
        if not isinstance(call, ast.Call) or called(call) != "map" or not call.args:
            continue
        given = call.args[0]
        bound = source.bound_by(given) if isinstance(given, ast.Name) else []
        if len(bound) == 1 and isinstance(bound[0], ast.FunctionDef) and copies_ids(bound[0]):
            yield bound[0].name


def copies_ids(function: ast.FunctionDef) -> bool:
    """`row = tokenizer(text, truncation=True)`, then `row["labels"] = row["input_ids"]...`."""
    made = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and tokenizes(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return any(
        isinstance(node, ast.Assign)
        and any(item_of(target, made) == "labels" for target in node.targets)
        and any(item_of(part, made) == "input_ids" for part in ast.walk(node.value))
        for node in ast.walk(function)
    )


def tokenizes(node: ast.expr) -> bool:
    """A tokenizer's call that cuts rows off and leaves them as long as they are."""
    if not isinstance(node, ast.Call):
        return False
    given = {one.arg for one in node.keywords}
    return "truncation" in given and not given & {"padding", "pad_to_multiple_of", None}


def item_of(node: ast.AST, names: set[str]) -> str:
    """`labels` for `row["labels"]`, if `row` is among the names."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
            return key if name in names else ""
    return ""


def nothing_else_pads(source: Source) -> bool:
    """Nothing in the file takes the column away, pads it, or makes batches of one row."""
    maps = rows_of_one = 0
    for node in source.nodes:
        if isinstance(node, ast.Call):
            maps += called(node) in ("map", "remove_columns", "set_format", "with_format")
        if isinstance(node, ast.keyword) and (node.arg or "").endswith("batch_size"):
            rows_of_one += not (isinstance(node.value, ast.Constant) and node.value.value != 1)
        if isinstance(node, ast.keyword) and node.arg == "padding":
            return False
    return maps == 1 and rows_of_one == 0
