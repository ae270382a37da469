"""Where a script chooses how long its rows are: an option, a setting, an argument's default."""

import ast
import re
from collections.abc import Iterator

from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.source.reading import Source, called, dotted, targets

LENGTHS = re.compile(
    r"max_?(\w+_)?len(gth)?$|max_?tokens$"
    r"|(seq|sequence|source|input|text|context|block)_?(len(gth)?|size)$",
    re.IGNORECASE,
)
"""Names that people give to the length of a row."""


def length_chosen(
    seen: Recording, number: int, apart: ast.expr | None = None
) -> tuple[Source, ast.Constant] | None:
    """The one place that says so many under such a name; `apart`: what says something else."""
    found = [
        (source, node)
        for script in seen.all(Script)
        if (source := seen.source(script.file)) is not None
        for name, node in named_numbers(source)
        if node is not apart and node.value == number and LENGTHS.search(name)
    ]
    return found[0] if len(found) == 1 else None


def named_numbers(source: Source) -> Iterator[tuple[str, ast.Constant]]:
    """Whole numbers of the source, each under the name that it is given to."""
    for name, node in named(source):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield name, node


def named(source: Source) -> Iterator[tuple[str, ast.expr | None]]:
    for node in source.nodes:
        match node:
            case ast.Assign() | ast.AnnAssign():
                for target in targets(node):
                    yield dotted(target).rpartition(".")[2], node.value
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value, value
            case ast.arguments():
                plain = [*node.posonlyargs, *node.args]
                defaults = plain[len(plain) - len(node.defaults) :]
                yield from (
                    (one.arg, value) for one, value in zip(defaults, node.defaults, strict=True)
                )
                yield from (
                    (one.arg, value)
                    for one, value in zip(node.kwonlyargs, node.kw_defaults, strict=True)
                )
            case ast.Call() if called(node) == "add_argument":
                yield from option(source, node)
            case ast.keyword(arg=str(name), value=value):
                yield name, value


def option(source: Source, call: ast.Call) -> Iterator[tuple[str, ast.expr | None]]:
    """`--max-length` of a command line, and its default."""
    words = [one.value for one in call.args if isinstance(one, ast.Constant)]
    for word in words:
        if isinstance(word, str):
            yield word.lstrip("-").replace("-", "_"), source.argument(call, "default")
