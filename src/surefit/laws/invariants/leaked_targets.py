"""The answer is no part of the question: no element of an input row is the target of the row."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from surefit.doctor.findings import Fact
from surefit.doctor.measures.leaked_targets import TargetsInInputs
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, shape_of
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.operations.operation_calls import line_of

LAW = Law("leaked_targets", "the target of a row is not among its inputs")
FEWEST_ROWS = 32
FEWEST_VALUES = 8
"""Different targets in a batch: they are measured, not counted or chosen."""
FEWEST_LOOKED = 2
FEWEST_ELEMENTS = 3
"""Of an input row: coordinates of a point can well be what is wanted at a boundary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetAmongInputs(BrokenLaw):
    """A model only has to copy an element of its input."""

    position: int
    """In the row laid out flat."""
    width: int
    back: int
    """Steps from it to the end of the first axis of a row: 1 for the last."""


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for seen in case.recording.all(TargetsInInputs):
        enough = seen.rows >= FEWEST_ROWS and seen.looked >= FEWEST_LOOKED
        varied = seen.values >= FEWEST_VALUES
        if not seen.positions or not enough or not varied or seen.place is None:
            continue
        width = prod(seen.shape[1:])
        if width < FEWEST_ELEMENTS or seen.process.rank not in (None, 0):
            continue
        position = seen.positions[-1]
        yield TargetAmongInputs(
            use=line_of(case, seen.place),
            said=f"The target of each row equals element {position} of the {width:,} of its input,"
            f" in all {counted(seen.rows, 'row')} looked at.",
            facts=(
                Fact("inputs", shape_of(seen.shape)),
                Fact("rows looked at", f"{seen.rows:,}, in {counted(seen.looked, 'batch')}"),
                Fact("target", f"equal to input[{position}] in every row, to the last digit"),
            ),
            steps=max(seen.step + 1, FEWEST_LOOKED),
            fault="target among the inputs",
            certain=False,  # a target that is one of the features can be meant
            position=position,
            width=width,
            back=seen.shape[1] - position // prod(seen.shape[2:]),
        )


def watched(recording: Recording) -> MeasuredOn:
    rows = sum(seen.rows for seen in recording.all(TargetsInInputs))
    if rows:
        return MeasuredOn(on=f"{counted(rows, 'row')} with a number as target")
    return MeasuredOn(why_not="no loss had a number as the target of each row")
