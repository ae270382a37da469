"""A sequence without a single token reaches `pack_padded_sequence`.

## What happens
A filter leaves nothing of some texts: only stop words, only words that the vocabulary does not
have, a blank line. Their length is 0, and `pack_padded_sequence` takes no empty sequence:
`Length of all samples has to be greater than 0`.

## Why it matters
The batch with such a row comes at some step of some epoch, and the error names neither the row nor
the filter.

## What to do
Leave such rows out where they are prepared, or keep a token for what is unknown. With
`lengths.clamp(min=1)` training runs, too, but a padding token is then read as text.

## How it is recognised
The lengths that were given hold 0. A second run tells which expression computed them, and which
gave an empty list or tensor.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.domains import EmptySequence
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import PASSING, Producer
from surefit.lineage.properties import of_several
from surefit.remedies.append import Append
from surefit.remedies.statements import Insert, assigned_name

SYMPTOM = Symptom(
    "Length of all samples has to be greater than 0",
    "which rows are empty, and what left nothing of them",
)
RULE = Rule("SF274", "empty-sequence", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(EmptySequence)
def a_sequence_is_empty(broken: EmptySequence, case: Case) -> Finding:
    lengths = broken.operand
    lineage = case.lineage(lengths)
    left = first_empty(lineage)
    counted_at = lineage.birth(of=of_several(broken.domain.outside))
    at: Written | None = left or counted_at or lengths.use
    least, greatest = lengths.value.least or 0.0, lengths.value.greatest or 0.0
    by = f": {code(left.text)} gives an empty {left.value.kind}" if left is not None else ""
    return case.finding(
        (at or broken.use).place,
        f"A sequence of length {least:g} reaches `{broken.taker}`, which takes no empty ones{by}.",
        facts=(
            lengths.fact(f"from {least:g} to {greatest:g}"),
            *fact_at("empty since", left),
            *fact_at("lengths from", counted_at),
            *fact_at("fails at", broken.use),
        ),
        why="What filters tokens can leave none of a row, and nothing leaves such rows out.",
        remedies=remedies(broken, case, left),
    )


def first_empty(lineage: Lineage) -> Producer | None:
    """The earliest of the user's expressions that gave nothing: what comes later is made of it.
    A display `[]` is only the beginning of a list."""
    empties = [
        producer
        for producer in lineage.all
        if producer.own
        and producer.kind not in PASSING
        and producer.text not in ("[]", "list()")
        and is_empty(producer)
    ]
    return empties[-1] if empties else None


def is_empty(producer: Producer) -> bool:
    value = producer.value
    if value.shape is not None:
        return value.shape[:1] == (0,)
    return value.length == 0 and value.kind in ("list", "tuple")


def remedies(broken: EmptySequence, case: Case, left: Producer | None) -> Iterator[Remedy | Fix]:
    yield skipped(case, left)
    lengths = broken.operand
    if lengths.use is not None and lengths.frame == case.number:  # a tensor before the call, too
        words = "Read a padding token where there is nothing: `.clamp(min=1)`."
        yield Append(at=lengths.use, suffix=".clamp(min=1)", words=words, choice=True)


def skipped(case: Case, left: Producer | None) -> Remedy | Fix:
    """Where each row is prepared in a turn of a loop, the turn ends."""
    words = "Leave rows out of which nothing is left, where they are prepared."
    name, node, source = assigned_name(case, left), case.node(left), case.source(left)
    if left is None or name is None or node is None or source is None:
        return Fix(words, choice=True)
    if not isinstance(source.parents.get(source.statement_of(node)), ast.For):
        return Fix(words, choice=True)
    return Insert(
        at=left,
        where="after",
        text=f"if len({name}) == 0:\n    continue",
        words=words,
        choice=True,
        must=TrainingGoesOn(changes_the_past=True, rows_change=True),
    )
