"""Inputs and targets that a loss sees are pairs of the arrays that they come from."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.row_pairs import ArrayPair, RowPairs
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn

LAW = Law("row_pairs", "each row is trained on with its own label")

FEWEST_ROWS = 64
SAME = 0.95
INDEPENDENT = 0.2
"""Share of rows, more than the most frequent target has, that the labels beside the rows tell."""
ALIKE = 0.2
"""How far shares of labels differ by chance."""
MOST_FREQUENT = 0.8
"""Share of the most frequent target: with more of them, pairs cannot be told from others."""
APART = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsOfOtherRows(BrokenLaw):
    """Targets do not depend on the labels that stand beside the rows."""

    pair: ArrayPair


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsInOtherOrder(BrokenLaw):
    """Labels are taken by position, and a data frame says that they belong to other rows."""

    pair: ArrayPair


def watched(recording: Recording) -> MeasuredOn:
    pairs = [pair for measure in recording.all(RowPairs) for pair in measure.pairs]
    if not pairs:
        return MeasuredOn(why_not="no arrays with the trained rows and their labels were seen")
    rows = max(pair.rows for pair in pairs)
    return MeasuredOn(on=f"{counted(rows, 'row')} and the labels beside them")


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for measure in case.recording.all(RowPairs):
        for pair in measure.pairs:
            if pair.rows < FEWEST_ROWS:
                continue
            if pair.equal >= SAME * pair.rows and pair.apart >= APART * pair.rows:
                yield in_other_order(pair, measure)
                return
            beside = [known for known in measure.pairs if is_beside(known, pair)]
            if is_independent(pair) and all(is_independent(known) for known in beside):
                yield of_other_rows(pair, measure)
                return


def is_beside(known: ArrayPair, pair: ArrayPair) -> bool:
    return known.place == pair.place and known.inputs == pair.inputs


def is_independent(pair: ArrayPair) -> bool:
    """The labels are those of the targets, and tell nothing of them."""
    return (
        pair.majority <= MOST_FREQUENT * pair.rows
        and pair.unlike <= ALIKE
        and pair.mapped <= pair.majority + INDEPENDENT * pair.rows
    )


def of_other_rows(pair: ArrayPair, measure: RowPairs) -> LabelsOfOtherRows:
    return LabelsOfOtherRows(
        use=Expression(pair.place),
        said=f"Rows are trained on with labels of other rows: {pair.equal:,} of"
        f" {counted(pair.rows, 'row')} have the label that stands beside them in"
        f" `{pair.inputs}` and `{pair.targets}`, about as many as by chance.",
        certain=False,  # labels are drawn at random on purpose, too
        facts=(
            Fact("own label", f"{pair.equal:,} of {pair.rows:,} rows"),
            Fact("most frequent label", f"{pair.majority:,} of {pair.rows:,} rows"),
        ),
        steps=measure.step + 1,
        fault=f"{LAW.name}: pairs",
        pair=pair,
    )


def in_other_order(pair: ArrayPair, measure: RowPairs) -> LabelsInOtherOrder:
    return LabelsInOtherOrder(
        use=Expression(pair.place),
        said=f"Rows are trained on with labels of other rows: `{pair.inputs}` and"
        f" `{pair.targets}` hold the same {pair.length:,} index values in different orders, and"
        f" {pair.apart:,} of {counted(pair.rows, 'row')} have the label of another index.",
        facts=(
            Fact("rows looked at", f"{pair.rows:,} of `{pair.inputs}`"),
            Fact("label of another index", f"{pair.apart:,} of them"),
            Fact("taken by position", f"{pair.equal:,} of {pair.rows:,} targets"),
        ),
        steps=measure.step + 1,
        fault=f"{LAW.name}: pairs",
        pair=pair,
    )
