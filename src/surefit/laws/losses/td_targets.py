"""Targets of temporal-difference learning in the source: `reward + gamma * value(next)`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.laws.evaluation.evaluation_names import words_of
from surefit.source.constants import number
from surefit.source.definitions import definition
from surefit.source.reading import Source, dotted

ENDS = frozenset(
    ("done", "dones", "terminal", "terminals", "terminated", "terminations", "d", "ended")
)
"""Words of names for whether an episode ended. Not `truncated`: there the value goes on."""
GOES_ON = frozenset(("not", "non", "truncated", "truncations", "timeout", "timeouts"))
DISCOUNTS = frozenset(("gamma", "discount"))
MOST_STEPS = 24


@dataclass(frozen=True, slots=True)
class TdTarget:
    """`r + gamma * q(s2).max(1).values`."""

    whole: ast.BinOp
    reward: ast.expr
    discounted: ast.BinOp
    """The product."""
    value: ast.expr
    """Its factor beside the discount."""


def is_end(name: str) -> bool:
    words = words_of(name)
    return bool(words & ENDS) and not words & GOES_ON


def td_targets(source: Source, scope: ast.AST) -> Iterator[TdTarget]:
    for node in ast.walk(scope):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            for reward, product in ((node.left, node.right), (node.right, node.left)):
                value = discounted_value(source, product)
                if value is not None and isinstance(product, ast.BinOp):
                    yield TdTarget(node, reward, product, value)


def discounted_value(source: Source, product: ast.expr) -> ast.expr | None:
    """What is multiplied by a discount, and by nothing else."""
    if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
        return None
    for discount, value in ((product.left, product.right), (product.right, product.left)):
        if is_discount(source, discount) and not is_product(value):
            return value
    return None


def is_product(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)


def is_discount(source: Source, node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return is_discount(source, node.left)
    if words_of(dotted(node).rpartition(".")[2]) & DISCOUNTS:
        return True
    factor = number(source, node)
    return factor is not None and 0.5 <= factor < 1


def names_behind(source: Source, node: ast.expr) -> frozenset[str]:
    """Names that a value is computed from, through assignments of its scope."""
    found: set[str] = set()
    waiting = [node]
    for _ in range(MOST_STEPS):
        if not waiting:
            break
        for name in ast.walk(waiting.pop()):
            if isinstance(name, ast.Name) and name.id not in found:
                found.add(name.id)
                before = definition(source, name)
                waiting += [before] if before is not None else []
    return frozenset(found)


def calls_something(source: Source, node: ast.expr) -> bool:
    value = source.value_of(node)
    return any(isinstance(inner, ast.Call) for inner in ast.walk(value))
