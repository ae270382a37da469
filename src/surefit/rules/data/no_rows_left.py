"""A loader was created from a dataset that has no rows.

## What happens
A filter keeps nothing, a folder holds no files of the name that is searched for, a slice begins
beyond the end, or a share of few rows rounds down to none. A shuffling loader refuses such a
dataset (`num_samples=0`); one that does not shuffle gives no batches, and what comes after it
divides by zero.

## Why it matters
The failing line is where the loader is created or where losses are averaged; the line that left
nothing is elsewhere, and said nothing.

## What to do
Look at the condition that keeps rows: a label as text compared with a number, a name of a split, a
suffix of files. Print how many rows are left after it.

## How it is recognised
The sampler of the loader was created for zero rows, or a loop over a loader of zero rows never ran
and what it should have left is needed. A second run shows the first expression that was empty.
"""

from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.batches import NoRows
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind
from surefit.lineage.properties import empty
from surefit.remedies.wrap import Wrap

SYMPTOM = Symptom(
    r"num_samples=0|ZeroDivisionError",
    "how many rows the dataset of the loader has, and what left them out",
)
RULE = Rule("SF219", "no-rows-left", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

LONGEST = 70
COMPUTED = (ProducerKind.CALL, ProducerKind.OPERATOR)


@RULE.on(NoRows)
def a_loader_has_no_rows(broken: NoRows, case: Case) -> Finding:
    lineage = case.lineage(broken.rows)
    birth = lineage.birth(of=empty)
    share = rounded_down(lineage) if birth is None else None
    at = birth or share
    before = rows_before(lineage, birth)
    return case.finding(
        (at or broken.use).place,
        headline(at, before, is_share=share is not None),
        facts=(
            Fact("rows of the loader", "0"),
            *(Fact(code(each.text), counted(each.value.length or 0, "row")) for each in before),
            *fact_at("fails at", broken.use if at else None),
        ),
        why="Nothing is said where rows are left out; the first to notice is what needs one.",
        remedies=(remedy(at, is_share=share is not None),),
    )


def rounded_down(lineage: Lineage) -> Producer | None:
    """A computed number of rows that is 0."""
    computed = [known for known in lineage.producers if known.kind in COMPUTED]
    zeros = [known for known in computed if repr(known.value.scalar) == "0"]
    return zeros[-1] if zeros else None


def rows_before(lineage: Lineage, birth: Producer | None) -> list[Producer]:
    """What the expression that left nothing was given, if that is known."""
    inputs = [before for _, before in lineage.inputs(birth)] if birth is not None else []
    return [each for each in inputs if each.value.length and each.value.scalar is None][:1]


def headline(at: Producer | None, before: list[Producer], *, is_share: bool) -> str:
    if at is None:
        return "The dataset of the loader has no rows."
    text = at.text if len(at.text) <= LONGEST else f"{at.text[: LONGEST - 1]}…"
    is_so = "is 0" if is_share else "is empty"
    for each in before:
        rows = counted(each.value.length or 0, "row")
        is_so = f"keeps nothing of the {rows} of {code(each.text)}"
    return f"{code(text)} {is_so}, so that the loader has no rows."


def remedy(at: Producer | None, *, is_share: bool) -> Remedy | Fix:
    if at is not None and is_share:
        words = "Keep at least one row: `max(1, ...)`."
        return Wrap(
            at=at,
            before="max(1, ",
            after=")",
            words=words,
            must=TrainingGoesOn(changes_the_past=True, rows_change=True),
            choice=True,
            alike=False,
        )
    if at is not None:
        return Fix(f"Change {code(at.text)}, so that it gives rows.", choice=True)
    return Fix("Look at where the dataset gets its rows: there are none.", choice=True)
