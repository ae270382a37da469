"""The loss is nan or infinite from some step on, and training goes on.

## What happens
One operation gives a number that is not finite: the logarithm of 0, a division by 0, the mean of
nothing. `backward` puts nan into the gradients, the optimizer into the weights, and from then on
everything is nan.

## Why it matters
Nothing is raised. The run goes on to its end, saves a model of nan and exits with 0.

## What to do
Keep the operation away from where it has no value: `torch.log(p.clamp_min(1e-8))`,
`a / (b + 1e-8)`, `nll.sum() / mask.sum().clamp(min=1)`; losses of torch on logits do it themselves.
Stop a run whose loss is not finite.

## How it is recognised
`backward` was called on values that are not finite, at least three times in a row up to the last. A
second run tells the first of your expressions whose value is not finite while what it is computed
from is. A script that leaves out such batches and goes on with finite ones is not reported.
"""

import ast

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.gradient_births import GradientBirth
from surefit.doctor.observations import Value
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.losses.finite_losses import LossNotFinite
from surefit.laws.runs import law_holds
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import PASSING, Producer
from surefit.remedies.away_from_the_pole import kept_finite
from surefit.remedies.change import Change
from surefit.source.edits import appended, replaced, wrapped
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

RULE = Rule("SF432", "loss-is-nan", Severity.ERROR, __doc__)

LEAST = "1e-8"


def is_not_finite(value: Value) -> bool | None:
    if value.not_finite is not None:
        return value.not_finite > 0
    if isinstance(value.scalar, float):
        return value.scalar != value.scalar or abs(value.scalar) == float("inf")
    return None


@RULE.on(LossNotFinite)
def loss_is_not_finite_to_the_end(broken: LossNotFinite, case: Case) -> Finding:
    loss = loss_at(broken, case)
    lineage = case.lineage_at(loss, broken.step) if loss is not None else None
    birth = first_not_finite(lineage) if lineage is not None else None
    if birth is None or lineage is None:
        return case.finding(
            broken.use.place,
            broken.said,
            facts=broken.facts,
            why="What is computed from nan is nan: gradients, weights and every later loss.",
            remedies=(Fix("Stop at the first loss that is not finite.", why_not_tried=NOT_KNOWN),),
        )
    return case.finding(
        birth.place,
        f"{broken.said.removesuffix('.')}: {code(birth.text)} is the first value that is not"
        " finite.",
        facts=(*broken.facts, *inputs(lineage, birth), *fact_at("first not finite", birth)),
        why="What is computed from it is nan, too: gradients, weights and every later loss.",
        remedies=remedies(broken, birth, case),
    )


NOT_KNOWN = "the expression that it begins with was not found"


def first_not_finite(lineage: Lineage) -> Producer | None:
    """The earliest of the user's expressions that is not finite, on a way to the loss on which no
    value is finite; of some values nothing is known. A mask of infinities is not on such a way."""
    waiting = [lineage.graph[link.serial] for link in lineage.root if link.serial in lineage.graph]
    met: dict[int, Producer] = {}
    for producer in waiting:
        if producer.serial in met or is_not_finite(producer.value) is False:
            continue
        met[producer.serial] = producer
        waiting += [before for _, before in lineage.inputs(producer)]
    begun = [
        producer
        for producer in met.values()
        if producer.own and producer.kind not in PASSING and is_not_finite(producer.value)
    ]
    return min(begun, key=lambda producer: producer.serial, default=None)


def loss_at(broken: LossNotFinite, case: Case) -> Expression | None:
    """`loss` of `loss.backward()`."""
    source, line = case.source(broken.use.place), broken.use.place.line
    for call in source.calls_in(line) if source is not None and line is not None else ():
        match call:
            case ast.Call(func=ast.Attribute(value=value, attr="backward")) if source is not None:
                return case.expression(source, value)
            case ast.Call(func=ast.Attribute(attr="backward"), args=[value, *_]):
                return case.expression(source, value) if source is not None else None
    return None


def inputs(lineage: Lineage, birth: Producer) -> list[Fact]:
    """What it was computed from, where that has a range."""
    found = {
        code(before.text): f"{before.value.least:.4g} … {before.value.greatest:.4g}"
        for _, before in lineage.inputs(birth)
        if before.value.least is not None and before.value.greatest is not None
    }
    return [Fact(name, said) for name, said in found.items()][:3]


def remedies(broken: LossNotFinite, birth: Producer, case: Case) -> list[Remedy | Fix]:
    node, source = case.node(birth), case.source(birth)
    edit = guarded(source, node) if source is not None and node is not None else None
    if edit is None:
        known = of_operation(broken, case)
        if known:
            return known
        said = "Keep this expression away from where it has no value."
        return [Fix(said, why_not_tried="your choice: what it should be there is not known")]
    words = f"Keep its argument away from 0, by {LEAST}."
    return [Change(to=edit, words=words, must=law_holds(broken), choice=True)]


def of_operation(broken: LossNotFinite, case: Case) -> list[Remedy | Fix]:
    """By the operation that a second run says gave the first bad value, with its operands."""
    birth = case.ask(GradientBirth, what="nan", step=broken.step)
    value = birth.source if birth is not None else None
    return list(kept_finite(case, value, law_holds(broken))) if value is not None else []


def guarded(source: Source, node: ast.expr) -> Edit | None:
    """Of a logarithm, its argument clamped; of a division, the divisor a little larger."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=("log" | "log2" | "log10" | "sqrt"))):
            given = node.args[0] if source.imported(node.func) and node.args else value
            return appended(source, given, f".clamp_min({LEAST})")
        case ast.BinOp(op=ast.Div(), right=right):
            return wrapped(source, right, "(", f" + {LEAST})")
        case ast.Call(func=ast.Name()) if called(node) == "log" and node.args:
            return replaced(
                source, node.args[0], f"({source.segment(node.args[0])}).clamp_min({LEAST})"
            )
    return None
