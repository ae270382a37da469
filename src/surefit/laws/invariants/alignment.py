"""Targets lie where their inputs lie: of a picture and a value for each pixel, both the same way
up."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.alignment import Aligned
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, shape_of
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.operations.operation_calls import line_of

LAW = Law("alignment", "the targets of pixels lie where their inputs lie")
AS_IT_IS = "as it is"
LEAST = 0.2
"""Correlation that shows that inputs and targets belong together in some way."""
TIMES = 2.0
"""How much more alike they must be when turned."""
SHARE = 0.8
"""Of the rows."""
FEWEST_ROWS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsTurned(BrokenLaw):
    """Inputs fit their targets when these are turned, and not as they are."""

    turned: str
    """`transposed`, `mirrored left to right`."""


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for seen in case.recording.all(Aligned):
        turned = max(seen.likeness, key=lambda name: seen.likeness[name])
        likeness, plain = seen.likeness[turned], seen.likeness.get(AS_IT_IS, 0.0)
        enough = seen.rows >= FEWEST_ROWS and seen.best.get(turned, 0) >= SHARE * seen.rows
        clear = likeness >= LEAST and likeness >= TIMES * plain
        if turned == AS_IT_IS or not enough or not clear or seen.place is None:
            continue
        yield TargetsTurned(
            use=line_of(case, seen.place),
            said=f"Inputs and the targets of their pixels fit when these are {turned}: their"
            f" correlation is {likeness:.2f} then, and {plain:.2f} as they are.",
            facts=(
                Fact("inputs", f"{shape_of(seen.shape)}, {counted(seen.rows, 'row')} looked at"),
                Fact(f"correlation, targets {turned}", f"{likeness:.2f}"),
                Fact("correlation as they are", f"{plain:.2f}"),
            ),
            steps=seen.step + 1,
            fault=f"targets {turned}",
            turned=turned,
        )


def watched(recording: Recording) -> MeasuredOn:
    rows = sum(seen.rows for seen in recording.all(Aligned))
    if rows:
        return MeasuredOn(on=f"{counted(rows, 'square picture')} with a target for each pixel")
    return MeasuredOn(why_not="no square picture with a target for each pixel was seen")
