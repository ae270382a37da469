"""A siamese loss without negatives has no stop-gradient: its targets are not detached.

## What happens
Two views of a row pass the same encoder, and a predictor on one side must match the other, as
in SimSiam and BYOL. The other side, the target, is not detached, so that the gradient pulls both
sides together.

## Why it matters
Nothing pushes different rows apart. One vector for all rows is the best answer, and the encoder
collapses towards it: the loss gets close to its minimum quickly, and the features say little.

## What to do
Stop the gradient at the target: `F.cosine_similarity(p, z.detach())`. Or use negatives, or a term
that keeps the variance of the features.

## How it is recognised
Every term of the loss is a mean of products or squared differences of two outputs; both have a
graph, and the layers of one are the layers of the other and some more, the predictor.
"""

import ast
from collections.abc import Iterable

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.kept_apart import NothingHeldStill
from surefit.laws.losses.loss_sources import entering_loss
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import appended
from surefit.source.patches import all_of
from surefit.source.reading import Source, called

RULE = Rule("SF445", "target-branch-not-detached", Severity.WARNING, __doc__)
COMPARISONS = ("cosine_similarity", "mse_loss")


@RULE.on(NothingHeldStill)
def both_sides_are_pulled(broken: NothingHeldStill, case: Case) -> Finding:
    source = case.source(broken.use.place)
    targets = targets_of(source, broken) if source is not None else []
    edit = all_of(appended(source, node, ".detach()") for node in targets) if source else None
    place = broken.use.place
    if source is not None and targets:
        place = Place(source.file, targets[0].lineno, targets[-1].end_lineno)
    texts = list(dict.fromkeys(f"`{source.segment(node)}`" for node in targets)) if source else []
    names = " and ".join(texts) or "the targets"
    return case.finding(
        place,
        f"No stop-gradient: {names} in the similarity loss should be detached. The gradient goes"
        " through both sides, and there are no negatives, so the representation collapses.",
        facts=broken.facts,
        why="A loss that only pulls outputs of the same layers together is least where all rows"
        " have one output. Only a target that is held still (`detach`) keeps them apart.",
        remedies=(
            Change(
                to=edit,
                words="Detach the target of each comparison, so that only the predictor follows.",
                must=law_holds(broken),
            ),
        ),
    )


def targets_of(source: Source, broken: NothingHeldStill) -> list[ast.expr]:
    """The target in each comparison that the loss is made of; where the way to them is not known,
    of all in the file, if they are as many as the terms."""
    near = comparisons(entering_loss(source, broken.use.place, lambda _: False))
    every = comparisons(source.every(ast.Call))
    calls = near or (every if len(every) == broken.terms else [])
    found = [call.args[broken.side] for call in calls]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def comparisons(nodes: Iterable[ast.AST]) -> list[ast.Call]:
    return [
        node
        for node in nodes
        if isinstance(node, ast.Call) and called(node) in COMPARISONS and len(node.args) >= 2
    ]
