"""A row gives the same output beside any other rows, and wherever it lies in its batch."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.collated_rows import CollatedRows
from surefit.doctor.measures.experiments import Experimented
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, shape_of
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn

LAW = Law("collated_rows", "a row gives the same output beside any other rows of its batch")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDependsOnItsBatch(BrokenLaw):
    """The output for one row is another where it is collated beside other rows."""

    tried: CollatedRows


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexNotMoved(RowDependsOnItsBatch):
    """Row numbers of each sample are joined as they are: they point into the first sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowAlteredByItsBatch(RowDependsOnItsBatch):
    """The collate function changes the values of a row by those of the rows beside it."""


def violations_of(case: Case) -> Iterator[RowDependsOnItsBatch]:
    for tried in every_try(case.recording):
        kind = kind_of(case.recording, tried)
        if kind is not None:
            yield broken(tried, kind)
            return


def every_try(recording: Recording) -> list[CollatedRows]:
    return [tried for tried in recording.all(CollatedRows) if tried.process.role != "worker"]


def kind_of(recording: Recording, tried: CollatedRows) -> type[RowDependsOnItsBatch] | None:
    """None where the model itself mixes rows, which is another law's and can be meant."""
    if not tried.moved and not tried.company:
        return None
    if tried.index is not None:
        return IndexNotMoved
    if tried.altered and keeps_rows_apart(recording, tried.model):
        return RowAlteredByItsBatch
    return RowDependsOnItsBatch if tried.flattened else None


def keeps_rows_apart(recording: Recording, model: str) -> bool:
    """Other rows of the batch were replaced, and its output for a row stayed as it was."""
    return any(
        made.rows.judged and not made.rows.changed and made.model == model
        for made in recording.all(Experimented)
    )


def broken(tried: CollatedRows, kind: type[RowDependsOnItsBatch]) -> RowDependsOnItsBatch:
    place = tried.defined_at or tried.place
    assert place is not None
    altered = (Fact("changes with the batch", code(tried.altered)),) if tried.altered else ()
    return kind(
        use=Expression(place),
        said=f"The output of {code(tried.model)} for one row changes with the rows that"
        f" {code(tried.collate)} puts beside it: by {share(tried)} of its largest value, where 0 is"
        " expected.",
        facts=(
            Fact("tried on", f"{tried.samples} rows, in evaluation mode, at step {tried.step:,}"),
            Fact("output", f"{shape_of(tried.output)}, changed by {share(tried)}, 0 expected"),
            *altered,
        ),
        steps=tried.step + 2,
        fault=f"{LAW.name} {place}",
        tried=tried,
    )


def share(tried: CollatedRows) -> str:
    change = max(tried.moved, tried.company)
    return f"{change:.0%}" if change < 10 else f"{change:.3g} times"


def watched(recording: Recording) -> MeasuredOn:
    every = every_try(recording)
    held = [
        tried
        for tried in every
        if tried.samples and not ((tried.moved or tried.company) and not kind_of(recording, tried))
    ]
    if held:
        names = ", ".join(dict.fromkeys(code(tried.collate) for tried in held))
        return MeasuredOn(on=f"{names} with {held[0].samples} rows")
    if any(tried.samples for tried in every):
        return MeasuredOn(why_not="the model itself mixes the rows of a batch")
    reasons = [tried.why_not for tried in every if tried.why_not]
    return MeasuredOn(why_not=reasons[0] if reasons else "no collate function of yours was used")
