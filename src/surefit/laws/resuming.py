"""Whether the source goes on where a checkpoint ended, or only takes its weights."""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Place
from surefit.laws.made_names import name_at
from surefit.source.reading import Source, called

PROGRESS = ("epoch", "step", "iter", "batch_idx", "batches_done")
"""Parts of keys under which a checkpoint says how far training had come."""
ONLY_TOLD = ("print", "info", "debug", "warning", "log", "format", "write", "echo")


def reads_progress(source: Source | None, place: Place) -> bool:
    """The epoch or the step of the checkpoint that is read at this line is used, and not only
    printed."""
    name = name_at(source, place)
    if source is None or name is None:
        return False
    return any(not only_told(source, node) for node in entries(source, name, PROGRESS))


def entries(source: Source, name: str, parts: tuple[str, ...]) -> Iterator[ast.expr]:
    """`ckpt["epoch"]` and `ckpt.get("epoch", 0)`."""
    for node in source.every(ast.expr):
        match node:
            case ast.Subscript(value=ast.Name(id=held), slice=ast.Constant(value=str(key))):
                pass
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=held), attr="get"),
                args=[ast.Constant(value=str(key)), *_],
            ):
                pass
            case _:
                continue
        if held == name and any(part in key.lower() for part in parts):
            yield node


def only_told(source: Source, node: ast.expr) -> bool:
    for outer in source.up(node):
        if isinstance(outer, ast.Call) and called(outer) in ONLY_TOLD:
            return True
        if isinstance(outer, ast.stmt):
            return False
    return False
