"""Reported numbers were measured: what is printed after an evaluation is what it gave."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.reported import Guess, Reported, ReportedSeries, ReportSeen
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import counted, spoken
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.metric_sources import nodes_for
from surefit.laws.reported_labels import FAMILIES, family_of, is_impossible

LAW = Law("reported_numbers", "numbers that are reported were measured")

WORDS = {
    "argmax over everything": "what an argmax over all rows and classes at once gives",
    "argmax over one column": "what an argmax over an axis of size 1 gives, which is always 0",
    "divided in the loop": "what a sum gives that is divided at every batch, inside the loop",
    "last batch": "that of the last batch alone",
    "last batch over all rows": "the last batch alone, divided by all rows",
    "all rows over the last batch": "all rows, divided by the size of the last batch",
    "batches over rows": "a sum of means of batches, divided by the number of rows",
    "rows over batches": "a sum over rows, divided by the number of batches",
    "full batches counted": "a count divided by full batches, though the last one is smaller",
    "ignored labels counted": "a count divided by all labels, ignored ones too",
    "logits above one half": "what logits above 0.5 give, as if they were probabilities",
    "compared with every row": "what comparing each row with every other row gives (broadcasting)",
    "not reset": "what a sum gives that is not reset between evaluations",
    "mean of batch means": "the mean of the means of batches of unequal size",
    "mean of batch scores": "the mean of the scores of single batches, each computed on its own",
}
BY_DIGITS = ("divided in the loop", "compared with every row")
"""Formulas that nobody means to use; others must be seen in the source, too."""
FEWEST_DIGITS = 6
"""Significant digits, over all reports, that no coincidence explains."""
NOT_AN_AVERAGE = re.compile(r"last|final|batch|current|worst|best|max|min|step", re.IGNORECASE)
"""Words before a number that is meant to be that of one batch."""
CLEAR = 0.01
UNEQUAL = 0.05
"""Share by which a mean of means must be off, at every evaluation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Misreported(BrokenLaw):
    """A number that a known wrong formula gives, and the right one does not."""

    law: Law = LAW
    formula: str
    series: ReportedSeries
    nodes: tuple[Expression, ...] = ()
    """What is written so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpossibleNumber(BrokenLaw):
    """A number that this metric cannot have."""

    law: Law = LAW
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
    for measure in case.recording.all(Reported):
        if measure.process.rank not in (None, 0):
            continue
        misreported = [entry for series in measure.series for entry in wrong_formulas(case, series)]
        yield from misreported
        explained = {entry.series.place for entry in misreported}
        for series in measure.series:
            if series.place not in explained:
                yield from impossible(series)


def wrong_formulas(case: Case, series: ReportedSeries) -> Iterator[Misreported]:
    formulas = dict.fromkeys(guess.formula for report in series.reports for guess in report.guesses)
    known = [
        entry for formula in formulas if (entry := explained(case, series, formula)) is not None
    ]
    known.sort(key=lambda entry: not entry.nodes)
    yield from known[:1]
    if not known:
        yield from mean_of_means(case, series)


def explained(case: Case, series: ReportedSeries, formula: str) -> Misreported | None:
    """Every report is what this formula gives, and not what the right one does; by enough digits,
    or because the source says so."""
    family = family_of(series.label)
    pairs = [(report, guess_of(report, formula, family)) for report in series.reports]
    hits = [
        (report, guess)
        for report, guess in pairs
        if guess is not None
        and not is_right(report, guess, series.label)
        and is_clear(report, guess)
    ]
    others = [report for report, guess in pairs if guess is None]
    if formula == "not reset":
        others = [report for report in others if report is not series.reports[0]]
    if not hits or others or contradicted(pairs, formula, series):
        return None
    if formula.startswith("last batch") and NOT_AN_AVERAGE.search(series.label):
        return None
    nodes = written_so(case, series, formula)
    digits = sum(significant(report.text) for report in {hit.text: hit for hit, _ in hits}.values())
    by_digits = len(hits) > 1 and digits >= FEWEST_DIGITS and formula in BY_DIGITS
    by_source = bool(nodes) and (family != "" or digits >= FEWEST_DIGITS // 2)
    by_source = by_source and (len(hits) > 1 or series.times == 1 or digits > 2)
    if not by_digits and not by_source:
        return None
    return misreported(series, formula, hits, nodes)


def guess_of(report: ReportSeen, formula: str, family: str) -> Guess | None:
    fitting = [guess for guess in report.guesses if guess.formula == formula]
    fitting = [guess for guess in fitting if family in ("", guess.family, FAMILIES[guess.family])]
    fitting = [guess for guess in fitting if guess.family != "score" or family == "score"]
    return fitting[0] if fitting else None


def is_right(report: ReportSeen, guess: Guess, label: str) -> bool:
    """An error rate is no accuracy; the number of one batch is right where it is called so."""
    rights = set(report.rights)
    if guess.family == "accuracy":
        rights &= {"accuracy", "count", "extreme"}
    if guess.family == "score":
        rights &= {"score"}
    if family_of(label) and not NOT_AN_AVERAGE.search(label):
        rights -= {"extreme"}
    return bool(rights)


def is_clear(report: ReportSeen, guess: Guess) -> bool:
    share = UNEQUAL if guess.formula == "mean of batch scores" else CLEAR
    return abs(report.value - guess.expected) > share * max(abs(guess.expected), abs(report.value))


def contradicted(
    pairs: list[tuple[ReportSeen, Guess | None]], formula: str, series: ReportedSeries
) -> bool:
    """Some report is right and no formula can tell it from the wrong one: that happens where both
    give the same. Most must be told apart."""
    told = [
        report
        for report, guess in pairs
        if guess is not None
        and not is_right(report, guess, series.label)
        and is_clear(report, guess)
    ]
    wanted = len(series.reports) - (formula == "not reset")
    return 2 * len(told) < wanted


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
    named = f"`{series.label}` {report.text}" if series.label else f"The number {report.text}"
    facts = [
        Fact("printed", spoken(dict.fromkeys(hit.text for hit, _ in hits[-3:]))),
        Fact("measured", spoken(dict.fromkeys(f"{entry.expected:.4f}" for _, entry in hits[-3:]))),
        Fact("after", counted(len(hits), "evaluation")),
    ]
    return Misreported(
        use=nodes[0] if nodes else Expression(series.place),
        said=f"{named} is not what was measured, {guess.expected:.4f}: it is {WORDS[formula]}.",
        facts=tuple(facts),
        steps=hits[0][0].step + 1,
        fault=f"{formula}: {nodes[0].place if nodes else series.place}",
        formula=formula,
        series=series,
        nodes=nodes,
    )


def mean_of_means(case: Case, series: ReportedSeries) -> Iterator[Misreported]:
    pairs = [(entry, entry.weighted) for entry in series.reports if entry.weighted is not None]
    once = series.times == 1 and len(pairs) == 1 and significant(pairs[0][0].text) > 2
    if len(pairs) < (1 if once else 2) or len(pairs) < len(series.reports):
        return
    if all(abs(entry.value - right) > UNEQUAL * abs(right) for entry, right in pairs if right):
        formula = "mean of batch means"
        hits = [
            (entry, Guess(formula=formula, family="loss", expected=right or 0.0))
            for entry, right in pairs
        ]
        yield misreported(series, formula, hits, written_so(case, series, formula))


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
