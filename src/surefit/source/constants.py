"""Numbers, texts and truths that an expression stands for, wherever they are written."""

import ast

from surefit.source import evaluation
from surefit.source.evaluation import Known, NotKnown
from surefit.source.origins import origin
from surefit.source.reading import Source


def evaluated(source: Source, node: ast.expr) -> Known:
    """What it comes to by constants of the file; raises `NotKnown`."""
    made = origin(source, node)
    if made is node:
        return evaluation.constant(node)
    return evaluation.evaluated(made, lambda part: evaluated(source, part))


def number(source: Source, node: ast.expr | None) -> int | float | None:
    """A number that is written out, or computed from such."""
    value = _value(source, node)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def integer(source: Source, node: ast.expr) -> int | None:
    value = number(source, node)
    return value if isinstance(value, int) else None


def truth(source: Source, node: ast.expr | None) -> bool | None:
    """True or False that is written out; None for everything else."""
    value = _value(source, node)
    return value if isinstance(value, bool) else None


def _value(source: Source, node: ast.expr | None) -> Known:
    try:
        return evaluation.evaluated(node, lambda part: evaluated(source, part)) if node else None
    except NotKnown:
        return None


def text(source: Source, node: ast.expr | None) -> str | None:
    found = origin(source, node) if node is not None else None
    value = found.value if isinstance(found, ast.Constant) else None
    return value if isinstance(value, str) else None
