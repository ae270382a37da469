"""What a rule says of a number that was not measured, and what a fix of it must achieve."""

from surefit.doctor.conditions.reported import ReportsTheMeasured
from surefit.doctor.findings import Finding, Fix, Place
from surefit.doctor.scoring.labels import named_by, names_a_loss
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.reported_numbers import Misreported

YOURS = "how it is computed is yours to write"


def by_hand(words: str) -> Fix:
    """A change that no edit operator makes."""
    return Fix(words, why_not_tried=YOURS)


def place_of(broken: Misreported) -> Place:
    """From the first to the last of what is written so, where they stand together."""
    if not broken.nodes:
        return broken.use.place
    places = [node.place for node in broken.nodes]
    first = places[0]
    lines = sorted(place.end_line or place.line or 0 for place in places)
    together = lines[-1] - (first.line or 0) <= 2 * len(lines)
    return Place(first.file, first.line, lines[-1] if together else first.end_line)


def reported_as_measured(broken: Misreported) -> ReportsTheMeasured:
    named = named_by(broken.series.label)
    return ReportsTheMeasured(
        label=broken.series.label,
        position=broken.series.position,
        rights=() if names_a_loss(named) else tuple(sorted(named)),
        steps=broken.steps,
        over_rows=broken.formula == "mean of batch means",
    )


def misreport(broken: Misreported, case: Case, why: str, *remedies: Remedy | Fix | None) -> Finding:
    """With what can be tried; without any, what to do by hand."""
    tried = [remedy for remedy in remedies if remedy is not None]
    return case.finding(
        place_of(broken),
        broken.said,
        facts=broken.facts,
        why=why,
        remedies=tried or [by_hand(broken.mistake.advice)],
    )
