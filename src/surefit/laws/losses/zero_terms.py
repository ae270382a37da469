"""Terms of a loss that are a plain zero unless something is computed."""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from surefit.source.classes import RETURNS_ITSELF, function_called
from surefit.source.reading import Source, called, targets
from surefit.source.returns import own_returns

ZEROS = ("zeros", "zeros_like", "new_zeros")
MADE_OF_A_NUMBER = ("tensor", "as_tensor", "new_tensor", "float", "Tensor")
KEEPS = (*RETURNS_ITSELF, "requires_grad_", "detach", "clone", "sum", "mean", "squeeze")
Assigning = ast.Assign | ast.AnnAssign | ast.AugAssign


@dataclass(frozen=True, slots=True)
class ZeroTerm:
    """A term, and the zero that it is."""

    text: str
    """A name of the source's, or the call of a function that gives it back."""
    zero: ast.expr


def zero_terms(
    source: Source, entering: Iterable[ast.AST], feeds: Callable[[ast.expr], bool]
) -> Iterator[ZeroTerm]:
    """Terms that are zero or what `feeds` says, and nothing else."""
    for node in sorted(entering, key=lambda one: getattr(one, "lineno", 0)):
        values, text = possible(source, node)
        zeros = [one for one in values if is_zero(one)]
        live = [one for one in values if not is_zero(one)]
        if zeros and live and all(map(feeds, live)):
            yield ZeroTerm(text, zeros[-1])


def plain_zeros(source: Source, entering: Iterable[ast.AST]) -> Iterator[ZeroTerm]:
    """Names that are zero and nothing else."""
    for node in sorted(entering, key=lambda one: getattr(one, "lineno", 0)):
        values, text = possible(source, node)
        if isinstance(node, ast.Name) and values and all(map(is_zero, values)):
            yield ZeroTerm(text, values[-1])


def possible(source: Source, node: ast.AST) -> tuple[list[ast.expr], str]:
    """Every value that a name, a choice or a call of a function of the file can have; none where
    one of them is not known."""
    if isinstance(node, ast.Name):
        bound = source.bound_by(node)
        plain = [one for one in bound if isinstance(one, Assigning)]
        values = [one.value for one in plain if one.value is not None and names_the_whole(one)]
        return (values if len(values) == len(bound) else []), node.id
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse], source.segment(node)
    function = function_called(source, node) if isinstance(node, ast.Call) else None
    returned = [one.value for one in own_returns(function)] if function else []
    known = [one for one in returned if one is not None]
    return (known if len(known) == len(returned) else []), function.name if function else ""


def names_the_whole(statement: Assigning) -> bool:
    """Not `ce, kd = ...`, where a name gets a part of the value."""
    return all(isinstance(one, ast.Name) for one in targets(statement))


def is_zero(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float) and node.value == 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return is_zero(node.left) or is_zero(node.right)
    if not isinstance(node, ast.Call):
        return False
    name = called(node)
    if name in ZEROS:
        return True
    if name in MADE_OF_A_NUMBER and node.args:
        match node.args[0]:
            case ast.List(elts=[inner]) | ast.Tuple(elts=[inner]) | inner:  # `0.0` of `[0.0]`
                return is_zero(inner)
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    return name in KEEPS and owner is not None and is_zero(owner)
