"""Different inputs give different outputs."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.experiments import Experimented, OperationSeen
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.operations.operation_calls import line_of

LAW = Law("inputs_count", "different inputs give different outputs")
FEWEST_STEPS = 10
"""Before these, a last layer that begins with zeros can still have no weight."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputsDoNotCount(BrokenLaw):
    """A model gives every row the same output."""

    operation: OperationSeen | None


def violations_of(case: Case) -> Iterator[InputsDoNotCount]:
    for tried in evaluated(case.recording):
        operation = tried.outputs.operation
        place = (operation.place if operation is not None else None) or tried.place
        if not tried.outputs.equal or place is None:
            continue
        rows, shape = tried.outputs.rows, shape_of(tried.outputs.output)
        yield InputsDoNotCount(
            use=line_of(case, place),
            said=f"{code(tried.model)} gives the same output for every row, whatever its input:"
            f" {rows} different rows were tried after {tried.step:,} steps.",
            facts=(
                Fact("outputs", f"{shape}, equal for all {rows} rows"),
                *lost_at(operation),
            ),
            steps=tried.step + 1,
            fault=f"inputs do not count {place}",
            operation=operation,
        )


def lost_at(operation: OperationSeen | None) -> tuple[Fact, ...]:
    if operation is None or not operation.inputs:
        return ()
    given = shape_of(operation.inputs[0])
    return (Fact("rows differ until", f"{code(operation.name)}, which is given {given}"),)


def evaluated(recording: Recording) -> list[Experimented]:
    """Experiments in evaluation, once the model has learned for a while."""
    return [
        tried
        for tried in recording.all(Experimented)
        if tried.outputs.rows and not tried.training and tried.step >= FEWEST_STEPS
    ]


def watched(recording: Recording) -> MeasuredOn:
    tried = evaluated(recording)
    if tried:
        models = ", ".join(dict.fromkeys(code(known.model) for known in tried))
        return MeasuredOn(on=f"{models} with {tried[0].outputs.rows} different rows")
    if any(not known.training for known in recording.all(Experimented)):
        return MeasuredOn(why_not="outputs of different rows could not be compared")
    return MeasuredOn(why_not="no evaluation of a trained model was seen")
