"""A divergence of softened distributions is added to a cross entropy without the factor T².

## What happens
Logits are divided by a temperature T before the softmax, on both sides, so that the teacher's small
probabilities count. The gradient of such a divergence with respect to the logits is about T² times
smaller than without a temperature: one T from each side.

## Why it matters
Nothing is raised. The weights of both terms say half and half, and with T = 4 the teacher has a
sixteenth of its half. A comparison of temperatures compares weights.

## What to do
Multiply the divergence by T²: `F.kl_div(...) * T**2`. Distilling the Knowledge in a Neural Network
(Hinton, Vinyals, Dean, 2015) does so for this reason, in its section 2.

## How it is recognised
In the source both sides are a softmax of logits divided by the same expression, and the graph of
the first argument holds its number, other than one. The gradients that arrive at the divergence and
at the loss of the labels are their weights: where these make one together, or each is one, T² is in
none of them. Any other weight, and a divergence that is the whole loss, are left alone.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.divergences import TermWeighs
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import DivergenceSeen, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, spoken
from surefit.laws.losses.divergences import (
    CLOSE,
    Divergence,
    divergences_seen,
    is_share,
    of_labels,
    over_looked,
    softmax_of,
    term_in_words,
)
from surefit.source.constants import number
from surefit.source.edits import Edit, appended, binds_tightly
from surefit.source.operations import operation
from surefit.source.origins import origin
from surefit.source.reading import Source

RULE = Rule("SF956", "temperature-not-squared", Severity.ERROR, __doc__)

PASSED = (
    *("view", "reshape", "flatten", "detach", "contiguous", "float", "to", "squeeze", "clone"),
    *("transpose", "permute", "unsqueeze"),
)
"""Methods that change no value."""


@RULE.on(Steps)
def the_square_of_the_temperature_is_missing(steps: Steps, seen: Recording) -> Iterator[Finding]:
    for one in divergences_seen(steps, seen):
        weighed = [call for call in one.seen if call.joined and of_labels(call)]
        shares = [share_of(call) for call in weighed]
        divided = divisor(one)
        if divided is None or not shares or shares[0] is None or None in shares:
            continue
        if all(is_that(one.source, divided, call.temperature) for call in weighed):
            yield finding(one, weighed[0], shares[0], divided)


def finding(one: Divergence, call: DivergenceSeen, share: float, divided: ast.expr) -> Finding:
    temperature = call.temperature or 1.0
    text = code(one.source.segment(divided))
    named = f"{text} = {temperature:g}" if not isinstance(divided, ast.Constant) else text
    return RULE.finding(
        one.place,
        f"The logits of both sides are divided by {named}, and the divergence is not multiplied by"
        f" its square: it counts {temperature**2:g} times less than its weight says.",
        facts=tuple(facts(call, share, temperature)),
        why="Dividing logits by T makes the gradient of a divergence about T² times smaller; the"
        " loss of the labels is not divided, so that the balance of the two follows T.",
        fixes=(fix(one, call, share, divided),),
    )


def facts(call: DivergenceSeen, share: float, temperature: float) -> Iterator[Fact]:
    if call.per_place is not None:
        squared = call.per_place * temperature**2
        said = f"{call.per_place:.3g} a position, {share:.3g} times; times {temperature**2:g} it"
        yield Fact("the divergence", f"{said} would be {squared:.3g}{over_looked(call)}")
    yield Fact("beside", spoken(term_in_words(term) for term in of_labels(call)))
    weights = [share, *(term.weight for term in of_labels(call))]
    sums = " + ".join(f"{weight:.3g}" for weight in weights)
    shown = f"{sums} = 1" if abs(sum(weights) - 1) < CLOSE else "1 each"
    yield Fact("weights", f"{shown}: no factor of {temperature**2:g} is in them")


def fix(one: Divergence, call: DivergenceSeen, share: float, divided: ast.expr) -> Fix:
    text = "Multiply it by the square of the temperature."
    edit = squared(one, divided)
    if edit is None:
        return Fix(text, why_not_tried="the temperature has no name where the divergence is taken")
    must = TermWeighs(one.line, call.step, share * (call.temperature or 1.0) ** 2)
    return Fix(text, edit, must)


def squared(one: Divergence, divided: ast.expr) -> Edit | None:
    source = one.source
    if not is_known_at(source, divided, one.call):
        return None
    text = source.segment(divided)
    if not binds_tightly(source, divided) and not isinstance(divided, ast.Constant):
        text = f"({text})"
    node: ast.expr = one.call
    while isinstance(parent := source.parents[node], ast.Attribute | ast.Subscript | ast.Call):
        inner = parent.func if isinstance(parent, ast.Call) else parent.value
        if inner is not node:
            break
        node = parent
    outer = source.parents[node]
    plain = isinstance(outer, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Call)
    added = isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Add | ast.Sub | ast.Mult)
    return appended(source, node, f" * {text} ** 2") if plain or added else None


def is_known_at(source: Source, divided: ast.expr, call: ast.Call) -> bool:
    """The expression means the same there: the same function, or names of the whole file."""
    if source.scope_of(divided) is source.scope_of(call):
        return True
    names = [one for one in ast.walk(divided) if isinstance(one, ast.Name)]
    return all(
        source.scope_of(binder) is source.tree for name in names for binder in source.bound_by(name)
    )


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
