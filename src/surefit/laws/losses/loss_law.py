"""The law on what a loss is given, and what its violations share."""

from collections.abc import Iterator

from surefit.doctor.findings import Place
from surefit.doctor.measures.loss_inputs import LossMeasure
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.laws.law import Law

LAW = Law("loss_inputs", "the loss sees what it is meant to see")

FEWEST_STEPS = 3
"""Steps that a proof looks at."""


def measures(recording: Recording) -> Iterator[LossMeasure]:
    """Of every process; of several ranks, of the first."""
    return recording.of_first_rank(LossMeasure)


def expression_at(recording: Recording, place: Place) -> Expression:
    """The statement on a line, as it is written."""
    source = recording.source(place)
    statement = source.statement_at(place.line) if source and place.line is not None else None
    text = source.segment(statement).partition("\n")[0] if source and statement else ""
    return Expression(place, None, text)
