"""The one place in the user's source where sizes are written as numbers."""

import ast
from collections.abc import Iterator, Sequence

from surefit.doctor.findings import Place
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording


def where_written(seen: Recording, sizes: Sequence[int]) -> Place | None:
    """All of them one behind the other; if they are equal, also one alone. None where there are
    several such places, or none."""
    every = [one for script in seen.all(Script) for one in written(seen, script.file, sizes)]
    return every[0] if len(set(every)) == 1 else None


def written(seen: Recording, file: str, sizes: Sequence[int]) -> Iterator[Place]:
    source = seen.source(file)
    for node in source.nodes if source else ():
        alone = len(set(sizes)) == 1 and is_number(node, sizes[0])
        if isinstance(node, ast.expr) and (alone or is_row(node, sizes)):
            yield Place(file, node.lineno)


def is_row(node: ast.AST, sizes: Sequence[int]) -> bool:
    match node:
        case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Call(args=items):
            numbers = [one.value if isinstance(one, ast.Constant) else None for one in items]
            wide = range(len(numbers) - len(sizes) + 1)
            return any(numbers[at : at + len(sizes)] == list(sizes) for at in wide)
    return False


def is_number(node: ast.AST, size: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == size
