"""Reported numbers were measured: what is printed after an evaluation is what it gave."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.reported import Guess, Reported, ReportedSeries, ReportSeen
from surefit.doctor.recording import Recording
from surefit.doctor.scoring.labels import is_impossible, named_by, names_a_loss
from surefit.doctor.scoring.variants import EXTREME, OVER_BATCHES
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted, spoken
from surefit.laws.case import Case
from surefit.laws.evaluation.metric_sources import nodes_for
from surefit.laws.evaluation.metric_variants import ONCE_WRONG, Mistake, mistake_of
from surefit.laws.law import BrokenLaw, Law, MeasuredOn

LAW = Law("reported_numbers", "numbers that are reported were measured")

FEWEST_REPORTS = 4
FEWEST_DIGITS = 6
"""Significant digits, over all reports, that no coincidence explains."""
NOT_AN_AVERAGE = re.compile(r"last|final|batch|current|worst|best|max|min|step", re.IGNORECASE)
"""Words before a number that is meant to be that of one batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misreported(BrokenLaw):
    """A number that a known mistake gives, and the right formula does not."""

    formula: str
    metric: str
    mistake: Mistake
    series: ReportedSeries
    nodes: tuple[Expression, ...] = ()
    """What is written so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpossibleNumber(BrokenLaw):
    """A number that this metric cannot have."""

    series: ReportedSeries
    report: ReportSeen


def watched(recording: Recording) -> MeasuredOn:
    every = list(recording.all(Reported))
    reports = sum(series.times for entry in every for series in entry.series)
    evaluations = sum(entry.evaluations for entry in every)
    if not evaluations:
        return MeasuredOn(why_not="no evaluation with a loss or targets was seen")
    if not reports:
        return MeasuredOn(why_not="no number was printed after an evaluation")
    return MeasuredOn(on=f"{counted(reports, 'number')} after {counted(evaluations, 'evaluation')}")


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for measure in case.recording.of_first_rank(Reported):
        misreported = [entry for series in measure.series for entry in wrong_formulas(case, series)]
        yield from misreported
        explained = {entry.series.place for entry in misreported}
        for series in measure.series:
            if series.place not in explained:
                yield from impossible(series)


def wrong_formulas(case: Case, series: ReportedSeries) -> Iterator[Misreported]:
    """The one that the source shows, or else the first; none where too few were looked at."""
    if len(series.reports) < min(series.times, FEWEST_REPORTS):
        return
    formulas = dict.fromkeys(guess.formula for report in series.reports for guess in report.guesses)
    known = [
        entry for formula in formulas if (entry := explained(case, series, formula)) is not None
    ]
    known.sort(key=lambda entry: (not entry.nodes, entry.formula == "mean of batch means"))
    yield from known[:1]


def explained(case: Case, series: ReportedSeries, formula: str) -> Misreported | None:
    """Every report is what this mistake gives, and not what the right formula does; by enough
    digits, or because the source says so."""
    mistake, named = mistake_of(formula), named_by(series.label)
    if mistake.meant and re.search(mistake.meant, series.label, re.IGNORECASE):
        return None
    pairs = [(report, guess_of(report, formula)) for report in series.reports]
    hits = [
        (report, guess)
        for report, guess in pairs
        if guess is not None
        and not is_right(report, formula, series.label)
        and is_clear(report, guess, mistake)
    ]
    others = [report for report, guess in pairs if guess is None]
    if formula in ONCE_WRONG:
        others = [report for report in others if report is not series.reports[0]]
    expected = len(series.reports) - (formula in ONCE_WRONG)
    if not hits or others or 2 * len(hits) < expected:
        return None
    nodes = written_so(case, series, formula)
    digits = sum(significant(report.text) for report in {hit.text: hit for hit, _ in hits}.values())
    once = len(hits) == 1 == series.times and digits > 2
    if formula == "mean of batch means":
        enough = len(hits) == len(series.reports) and (len(hits) > 1 or once)
        return misreported(series, formula, hits, nodes) if enough else None
    by_digits = mistake.by_digits and len(hits) > 1 and digits >= FEWEST_DIGITS
    by_digits = by_digits or (mistake.by_digits and once and digits > 3 and bool(named))
    by_source = bool(nodes) and (bool(named) or digits >= FEWEST_DIGITS // 2)
    by_source = by_source and (len(hits) > 1 or series.times == 1 or digits > 2)
    if not by_digits and not by_source:
        return None
    return misreported(series, formula, hits, nodes)


def guess_of(report: ReportSeen, formula: str) -> Guess | None:
    return next((guess for guess in report.guesses if guess.formula == formula), None)


def is_right(report: ReportSeen, formula: str, label: str) -> bool:
    """A label that names metrics wants one of these; the number of one batch is right where it is
    called so, and a mean over batches where this is not what is asked."""
    rights, named = set(report.rights), named_by(label)
    if formula == "mean of batch means":
        rights = {name for name in rights if OVER_BATCHES not in name and "of rows" not in name}
    if named and not NOT_AN_AVERAGE.search(label):
        rights -= {EXTREME}
    if named and not names_a_loss(named):
        wanted = {*named, *(name + OVER_BATCHES for name in named), EXTREME}
        rights &= wanted
    return bool(rights)


def is_clear(report: ReportSeen, guess: Guess, mistake: Mistake) -> bool:
    apart = abs(report.value - guess.expected)
    return apart > mistake.share * max(abs(guess.expected), abs(report.value))


def significant(text: str) -> int:
    digits = re.sub(r"[eE].*", "", text).replace(".", "").lstrip("+-0")
    return min(4, len(digits))


def written_so(case: Case, series: ReportedSeries, formula: str) -> tuple[Expression, ...]:
    places = (series.place, *series.measured_at)
    found: list[Expression] = []
    for file in dict.fromkeys(place.file for place in places):
        source = case.source(file)
        for node in nodes_for(formula, source, places) if source is not None else ():
            place = Place(file, getattr(node, "lineno", None), getattr(node, "end_lineno", None))
            assert source is not None
            text = " ".join(source.segment(node).split())
            found.append(Expression(place, source.span(node), text))  # type: ignore[arg-type]
    return tuple(found)


def misreported(
    series: ReportedSeries,
    formula: str,
    hits: list[tuple[ReportSeen, Guess]],
    nodes: tuple[Expression, ...],
) -> Misreported:
    report, guess = hits[-1]
    mistake = mistake_of(formula)
    named = f"`{series.label}` {report.text}" if series.label else f"The number {report.text}"
    facts = [
        Fact("printed", spoken(dict.fromkeys(hit.text for hit, _ in hits[-3:]))),
        Fact("measured", spoken(dict.fromkeys(f"{entry.expected:.4f}" for _, entry in hits[-3:]))),
        Fact("after", counted(len(hits), "evaluation")),
    ]
    return Misreported(
        use=nodes[0] if nodes else Expression(series.place),
        said=f"{named} is not what was measured, {guess.expected:.4f}: it is {mistake.is_what}.",
        facts=tuple(facts),
        steps=hits[0][0].step + 1,
        fault=f"{formula}: {nodes[0].place if nodes else series.place}",
        formula=formula,
        metric=guess.metric,
        mistake=mistake,
        series=series,
        nodes=nodes,
    )


def impossible(series: ReportedSeries) -> Iterator[ImpossibleNumber]:
    for report in series.reports:
        why = is_impossible(series.label, report.value)
        if why:
            yield ImpossibleNumber(
                use=Expression(series.place),
                said=f"`{series.label}` {report.text} is impossible: {why}.",
                facts=(Fact("printed", f"{report.text}, after {counted(report.step, 'step')}"),),
                steps=report.step + 1,
                fault=f"impossible number: {series.place}",
                series=series,
                report=report,
            )
            return
