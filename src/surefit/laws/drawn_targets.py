"""Targets drawn at random for the loss alone, beside noise that the model is given."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.laws.loss_calls import WrittenLoss
from surefit.laws.td_targets import names_behind
from surefit.source.callers import names_read
from surefit.source.definitions import definition
from surefit.source.reading import Source, called

DRAWS = ("randn_like", "randn", "rand_like", "rand", "normal")
MOST_STEPS = 8


@dataclass(frozen=True, slots=True)
class DrawnTarget:
    """A target that nothing else reads, and the noise that was meant."""

    target: ast.expr
    """As the loss is given it."""
    draw: ast.Call
    noise: str
    noise_draw: ast.Call


def drawn_target(loss: WrittenLoss) -> DrawnTarget | None:
    """None unless one single noise went into what the model was given, mixed with something else
    and drawn by the same function."""
    source, target, predictions = loss.source, loss.target, loss.predictions
    draw = fresh_draw(source, target) if target is not None else None
    if target is None or draw is None or predictions is None:
        return None
    scope = source.scope_of(loss.call)
    noises = [
        (name, value)
        for name, value in mixed_noises(source, predictions)
        if is_alike(called(value), called(draw)) and source.scope_of(value) is scope
    ]
    if len(noises) != 1 or source.scope_of(draw) is not scope:
        return None
    name, noise_draw = noises[0]
    return DrawnTarget(target, draw, name, noise_draw)


def is_alike(first: str, other: str) -> bool:
    return first.removesuffix("_like") == other.removesuffix("_like")


def fresh_draw(source: Source, node: ast.expr) -> ast.Call | None:
    """The draw behind a target, where only the target reads it."""
    if isinstance(node, ast.Name):
        value = definition(source, node) if len(reads_beside(source, node, node.id)) == 1 else None
    else:
        value = node
    return value if isinstance(value, ast.Call) and is_draw(source, value) else None


def reads_beside(source: Source, node: ast.expr, name: str) -> list[ast.Name]:
    """Of a name, in the function that a node is in."""
    scope = source.scope_of(node)
    every = names_read(source).get(name, ())
    return [read for read in every if source.scope_of(read) is scope]


def is_draw(source: Source, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and source.imported(node.func) in {
        f"torch.{name}" for name in DRAWS
    }


def mixed_noises(source: Source, predictions: ast.expr) -> Iterator[tuple[str, ast.Call]]:
    """Names of random draws that enter the predictions in an expression with other names: not what
    a model is given as it is, as a latent vector."""
    behind = names_behind(source, predictions)
    for name in sorted(behind):
        reads = reads_beside(source, predictions, name)
        draws = {definition(source, read) for read in reads}
        value = draws.pop() if len(draws) == 1 else None
        if not isinstance(value, ast.Call) or not is_draw(source, value):
            continue
        if any(is_mixed(source, read) for read in reads):
            yield name, value


def is_mixed(source: Source, read: ast.Name) -> bool:
    """In a sum, or beside other arguments of a function that is no layer's call alone."""
    outer = source.parents.get(read)
    if isinstance(outer, ast.BinOp):
        return True
    return isinstance(outer, ast.Call) and len(outer.args) > 1 and read in outer.args
