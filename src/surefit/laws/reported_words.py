"""What a rule says of a number that was not measured, and what a fix of it must achieve."""

from surefit.doctor.conditions.reported import ReportsTheMeasured
from surefit.doctor.findings import Fix, Place
from surefit.laws.invariants.reported_numbers import Misreported
from surefit.laws.reported_labels import family_of

RIGHTS = {"accuracy": ("accuracy", "count"), "score": ("score",)}
YOURS = "how to add up is yours to write"


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
    rights = RIGHTS.get(family_of(broken.series.label), ())
    return ReportsTheMeasured(
        label=broken.series.label,
        position=broken.series.position,
        rights=rights,
        steps=broken.steps,
        over_rows=broken.formula == "mean of batch means",
    )
