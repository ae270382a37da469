"""`backward` was called on a loss with several elements.

## What happens
A gradient is that of one number. With `reduction="none"`, or where the mean was forgotten, a loss
has one element for each row, and `backward` says "grad can be implicitly created only for scalar
outputs".

## Why it matters
`loss.backward(torch.ones_like(loss))` is the sum, not the mean: the step is then as many times
larger as the batch has rows, and grows with the batch.

## What to do
`loss.mean()`, which is what `reduction="mean"` does, or `loss.sum()`. Weights of rows and masks are
applied before; with a mask, divide by the number of elements that count.

## How it is recognised
`backward` was called, without gradients of its own, on a tensor with a graph and more than one
element. A second run follows it back to the loss that was told not to reduce, where there is one.
"""

import ast
from collections.abc import Iterator
from math import prod

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import counted, shape_of
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.graphs import NotOneNumber
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer
from surefit.remedies.append import Append
from surefit.remedies.arguments import DropArgument

SYMPTOM = Symptom(
    r"grad can be implicitly created only for scalar outputs",
    "the shape of the loss, and whether `reduction` is `none`",
)
RULE = Rule("SF631", "loss-is-no-scalar", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

WAYS = {
    "mean": "If a batch should count by its mean, as is usual: {}.",
    "sum": "If every element should count in full: {}; the step then grows with the batch.",
}


@RULE.on(NotOneNumber)
def loss_has_several_elements(broken: NotOneNumber, case: Case) -> Finding:
    shape, loss = broken.root.shape, broken.loss
    lineage = case.lineage(loss)
    computed, unreduced = unreduced_loss(lineage, shape) or (lineage.handed_over(), None)
    if case.read and computed is not None and case.argument(computed, "reduction", None):
        unreduced = computed
    elements = "several elements" if case.read else counted(prod(shape), "element")
    return case.finding(
        (unreduced or computed or broken.use).place,
        f"`backward` is called on {loss.name}, which has {elements}, and a gradient is that of a"
        " single number.",
        facts=(
            Fact(loss.name, f"{loss.sizes or shape_of(shape)}, {broken.root.dtype}"),
            *fact_at('`reduction="none"` at', unreduced),
            *fact_at("one loss for each element at", computed if computed != unreduced else None),
            Fact("`backward` is called at", str(broken.use.place)),
        ),
        why="Nothing has reduced the loss to one number: neither `mean` nor `sum` was taken.",
        remedies=remedies(broken, case, unreduced),
    )


def unreduced_loss(lineage: Lineage, shape: tuple[int, ...]) -> tuple[Producer, Producer] | None:
    """The nearest call of a loss that was told not to reduce, with where it was told: the call
    itself, or the constructor of the loss."""
    for call in lineage.all:
        if call.value.shape == shape and call.value.requires_grad:
            callees = [source for source, _ in lineage.inputs(call) if source.name == "func"]
            built = Lineage(lineage.graph, tuple(callees)).constructor()
            for told_at in (call, *([built.call] if built else ())):
                given = {way.name: before.value.scalar for way, before in lineage.inputs(told_at)}
                if given.get("reduction") == "none":
                    return call, told_at
    return None


def remedies(broken: NotOneNumber, case: Case, unreduced: Producer | None) -> Iterator[Remedy]:
    reducing = ways_in_function(broken, case)
    if unreduced is not None and reducing != ["sum"]:
        yield DropArgument(
            at=unreduced,
            name="reduction",
            words='Let the loss take the mean: leave `reduction="none"` out.',
            must=GradientsStay(),
            choice=True,
        )
    for way, words in WAYS.items():
        certain = reducing == [way] and unreduced is None
        yield Append(
            at=broken.loss.use,
            suffix=f".{way}()",
            words=words.format(f"`{broken.loss.name[1:-1]}.{way}()`"),
            must=GradientsStay(),
            choice=not certain,
            alike=False,
        )
        if certain:
            return


def ways_in_function(broken: NotOneNumber, case: Case) -> list[str]:
    """How other lines of the function reduce this very name."""
    node, source = case.node(broken.loss.use), case.source(broken.use.place)
    if node is None or source is None:
        return []
    name = ast.unparse(node)
    written = {ast.unparse(part) for part in ast.walk(source.scope_of(node))}
    return [way for way in sorted(WAYS) if f"{name}.{way}" in written]
