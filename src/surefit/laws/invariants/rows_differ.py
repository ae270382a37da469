"""What a model is given differs from row to row."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.phase_inputs import PhaseInput, PhaseInputs
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn

LAW = Law("rows_differ", "what a model is given differs from row to row")

FEWEST_ROWS = 32
FEWEST, MOST = 3, 64
"""Features of a row of a table; longer rows are signals, of which each has a scale of its own."""
LEAST_SHARE = 0.02
"""Of the squares of the inputs, that differs between rows."""
ROUNDING = 2e-3
PROOF_STEPS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsAlike(BrokenLaw):
    """Every row was scaled by its own numbers, after which nearly all of it is the same in all."""

    given: PhaseInput


def violations_of(case: Case) -> Iterator[RowsAlike]:
    for given in tables(case.recording):
        same, differs = squares(given)
        if differs >= LEAST_SHARE * (same + differs) or not has_its_own_scale(given):
            continue
        yield RowsAlike(
            use=Expression(given.stack[0]),
            said=f"Rows of `{given.name}` are scaled by their own mean and width, and"
            f" {same / (same + differs):.2%} of what is left is the same in every row.",
            facts=tuple(
                Fact(f"feature {number}", f"{feature.mean:.4g} ± {feature.spread:.2g}")
                for number, feature in enumerate(given.features[:4])
            ),
            steps=PROOF_STEPS,
            fault=f"{LAW.name}: {given.taker} {given.name}",
            certain=False,  # rows can be alike, and be scaled so on purpose
            given=given,
        )


def tables(recording: Recording) -> Iterator[PhaseInput]:
    """Rows of numbers that a model is trained on, with figures of all their features."""
    for measure in recording.all(PhaseInputs):
        for given in measure.inputs:
            features = len(given.features)
            whole = len(given.shape) == 2 and given.shape[1] == features
            learned = given.trained and given.model and given.rows >= FEWEST_ROWS
            if learned and given.stack and whole and FEWEST <= features <= MOST:
                yield given


def squares(given: PhaseInput) -> tuple[float, float]:
    """Of the means of features, which all rows share, and of what differs."""
    return (
        sum(feature.mean**2 for feature in given.features),
        sum(feature.spread**2 for feature in given.features),
    )


def has_its_own_scale(given: PhaseInput) -> bool:
    """Each row has mean 0 and deviation 1, or length 1: so they have on average."""
    features = len(given.features)
    mean = sum(feature.mean for feature in given.features) / features
    square = sum(squares(given))
    standard = abs(mean) < ROUNDING and any(
        abs(square / (features - less) - 1) < ROUNDING for less in (0, 1)
    )
    return standard or abs(square - 1) < ROUNDING


def watched(recording: Recording) -> MeasuredOn:
    looked = list(tables(recording))
    if not looked:
        return MeasuredOn(why_not="no model was trained on rows of a table")
    return MeasuredOn(on=f"`{looked[0].name}` in {counted(looked[0].rows, 'row')}")
