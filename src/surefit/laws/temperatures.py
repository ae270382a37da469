"""The temperature that logits are divided by on both sides of a divergence."""

import ast

from surefit.doctor.observations import DivergenceSeen
from surefit.laws.divergences import CLOSE, Divergence, is_share, softmax_of
from surefit.source.constants import number
from surefit.source.operations import operation
from surefit.source.origins import origin
from surefit.source.reading import Source

PASSED = (
    *("view", "reshape", "flatten", "detach", "contiguous", "float", "to", "squeeze", "clone"),
    *("transpose", "permute", "unsqueeze"),
)
"""Methods that change no value."""


def share_of(call: DivergenceSeen) -> float | None:
    """The weight of the divergence, where it is a share and nothing else."""
    if not call.temperature or call.temperature < 1 + CLOSE or call.given.kind != "logarithms":
        return None
    weights = [call.place_weight]
    if call.reduction in ("mean", "batchmean"):
        weights.append(call.weight)
    return next((one for one in weights if one and one > 0 and is_share(one, call)), None)


def is_that(source: Source, divided: ast.expr, temperature: float | None) -> bool:
    """What the source divides by is what the graph has, as far as the source says a number."""
    written = number(source, divided)
    if temperature is None or written == 0:
        return False
    return written is None or abs(written / temperature - 1) < CLOSE


def divisor(one: Divergence) -> ast.expr | None:
    """What the logits of both sides are divided by."""
    sides = [divisor_of(one.source, side) for side in (one.given, one.target) if side is not None]
    texts = [ast.unparse(side) for side in sides if side is not None]
    return sides[0] if len(texts) == 2 and len(set(texts)) == 1 else None


def divisor_of(source: Source, node: ast.expr) -> ast.expr | None:
    """`T` of `softmax(logits / T)`, behind names, indices and changes of shape."""
    softmax = softmax_of(source, unwrapped(source, node))
    if softmax is None:
        return None
    logits = source.argument(softmax, "input", 0)
    if operation(source, softmax).startswith("."):  # a method of a tensor
        logits = softmax.func.value if isinstance(softmax.func, ast.Attribute) else None
    match unwrapped(source, logits) if logits is not None else None:
        case ast.BinOp(op=ast.Div(), right=divided):
            return divided
    return None


def unwrapped(source: Source, node: ast.expr) -> ast.expr:
    for _ in range(12):
        node = origin(source, node)
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in PASSED or source.imported(node.func):
                return node
            node = node.func.value
        else:
            return node
    return node
