"""Every label is -100: the loss has nothing to learn from.

## What happens
`cross_entropy` leaves out targets that equal its `ignore_index`, -100. Where all of them do, as
when the prompt is masked and the row is cut before the answer begins, nothing is left.

## Why it matters
With `reduction="mean"` the loss is 0 / 0 = nan, with `reduction="sum"` it is 0. Nothing is raised,
and the model either stays as it was or turns to nan.

## What to do
Look at one row of labels. Make room for the answer: cut the prompt, not the row; and check that the
number of masked tokens is counted on the same tokenization as the row.

## How it is recognised
At every call of the loss looked at, each class index was the ignored one.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.findings import Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.losses.built_targets import ignored_at, lineage_of_targets, place_of_targets
from surefit.laws.losses.loss_predictions import EveryLabelIgnored
from surefit.source.reading import Source

RULE = Rule("SF428", "every-label-ignored", Severity.ERROR, __doc__)


@RULE.on(EveryLabelIgnored)
def nothing_is_left_to_learn(broken: EveryLabelIgnored, case: Case) -> Finding:
    site = broken.site
    masks = [
        place
        for source in case.recording.sources()
        for place in numbers_of(source, site.ignore_index)
    ]
    place = masks[0] if len(set(masks)) == 1 else None
    if place is None:
        lineage = lineage_of_targets(case, site.name, broken.use.place)
        place = ignored_at(lineage, site.ignore_index) or place_of_targets(lineage)
    return case.finding(
        place or broken.use.place,
        f"Every label is {site.ignore_index}, which {code(site.name)} ignores: no target is left.",
        facts=broken.facts,
        why="The mean over no labels is 0 / 0, which is nan; the sum over none is 0.",
        remedies=(
            Fix(
                "Mask only the prompt, and leave room for the answer in each row.",
                why_not_tried="your choice: rows must be cut elsewhere, or be longer",
            ),
        ),
    )


def numbers_of(source: Source, number: int) -> Iterator[Place]:
    """Lines that write the ignored label."""
    for node in source.every(ast.UnaryOp):
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if value == -number:
                yield Place(source.file, node.lineno)
