"""A category has the same id in training and in evaluation."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.category_codes import CategoryCodes, TwoNumberings
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.evaluation.evaluation_names import HELD_OUT, data_words
from surefit.laws.law import BrokenLaw, Law, MeasuredOn

LAW = Law("category_codes", "a category has the same id in training and in evaluation")

SHARED = 0.5
"""Share of the smaller set of categories that is in the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoriesRenumbered(BrokenLaw):
    """Categories of a split are numbered by themselves."""

    changes: tuple[TwoNumberings, ...]


def watched(recording: Recording) -> MeasuredOn:
    times = sum(measure.numbered for measure in recording.all(CategoryCodes))
    if not times:
        return MeasuredOn(why_not="no categories were numbered before training")
    return MeasuredOn(on=f"categories that were numbered {counted(times, 'time')}")


def violations_of(case: Case) -> Iterator[CategoriesRenumbered]:
    for measure in case.recording.all(CategoryCodes):
        changes = [
            change
            for change in measure.changes
            if measure.embeds
            and change.shared >= SHARED * min(change.first, change.second)
            and is_of_splits(case.recording, change)
        ]
        if changes:
            yield renumbered(tuple(changes))
            return


def is_of_splits(recording: Recording, change: TwoNumberings) -> bool:
    """A name on the way to the second says that it is for validation or test."""
    return any(words & HELD_OUT for words in data_words(recording, change.again))


def renumbered(changes: tuple[TwoNumberings, ...]) -> CategoriesRenumbered:
    first = changes[0]
    return CategoriesRenumbered(
        use=Expression(first.again[0]),
        said=f"The same category has different ids in training and in evaluation: {first.moved:,}"
        f" of {first.shared:,} categories of `{first.column}` that both splits have.",
        facts=tuple(
            Fact(
                f"`{change.column}`",
                f"{change.moved:,} of {change.shared:,} shared categories get another id:"
                f" {change.example} is {change.numbers[0]}, then {change.numbers[1]}",
            )
            for change in changes[:4]
        ),
        steps=1,
        fault=f"{LAW.name}: ids",
        changes=changes,
    )
