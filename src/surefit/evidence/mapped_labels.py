"""Functions that a script maps over its rows, and whether the labels they make stay ragged."""

import ast
from collections.abc import Iterator

from surefit.source.fields import in_dictionary
from surefit.source.reading import Source, called
from surefit.source.returns import own_returns

MOST_STEPS = 8


def label_makers(source: Source) -> Iterator[str]:
    """Functions given to `map` that tokenize without padding and copy `input_ids` to `labels`."""
    for call in source.nodes:
        if not isinstance(call, ast.Call) or called(call) != "map" or not call.args:
            continue
        given = call.args[0]
        bound = source.bound_by(given) if isinstance(given, ast.Name) else []
        function = bound[0] if len(bound) == 1 else None
        if not isinstance(function, ast.FunctionDef):
            continue
        if copies_ids(function) or lists_labels(source, function):
            yield function.name


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


def lists_labels(source: Source, function: ast.FunctionDef) -> bool:
    """`return {"labels": [-100] * len(prompt) + answer}`: lists put together, and not filled."""
    returns = [one.value for one in own_returns(function)]
    value = source.value_of(returns[0]) if len(returns) == 1 and returns[0] else None
    labels = in_dictionary(value, "labels") if isinstance(value, ast.Dict) else None
    if labels is None or fills(function):
        return False
    return is_list(source, labels) and has_ids(source, labels)


def fills(function: ast.FunctionDef) -> bool:
    """`[0] * (LONGEST - len(ids))`, `padding=...`, or tensors of one length."""
    for node in ast.walk(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
            return True
        if isinstance(node, ast.keyword) and node.arg in ("padding", "return_tensors"):
            return True
        if isinstance(node, ast.While):
            return True
    return False


def is_list(source: Source, node: ast.expr, deep: int = 0) -> bool:
    node = source.value_of(node)
    if isinstance(node, ast.List | ast.ListComp):
        return True
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
        return is_list(source, node.left, deep + 1) if deep < MOST_STEPS else False
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        return is_list(source, node.value, deep + 1) if deep < MOST_STEPS else False
    return is_ids(node)


def has_ids(source: Source, node: ast.expr, deep: int = 0) -> bool:
    """Ids of a text are a part of it."""
    node = source.value_of(node)
    if is_ids(node):
        return True
    parts = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
    return deep < MOST_STEPS and any(has_ids(source, one, deep + 1) for one in parts)


def is_ids(node: ast.expr) -> bool:
    """`tokenizer(text)["input_ids"]`."""
    key = node.slice if isinstance(node, ast.Subscript) else None
    made = node.value if isinstance(node, ast.Subscript) else None
    named = isinstance(key, ast.Constant) and key.value == "input_ids"
    return named and isinstance(made, ast.Call)


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
