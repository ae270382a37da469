"""Losses that are given what torch's documentation rules out and torch does not refuse."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from surefit.doctor.findings import Fact
from surefit.doctor.measures.loss_preconditions import (
    CTC,
    SIGNS,
    TRIPLETS,
    LossPreconditions,
    PreconditionSite,
)
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.evaluation.evaluation_names import words_of
from surefit.laws.law import BrokenLaw
from surefit.laws.losses.loss_calls import WrittenLoss, loss_call_at
from surefit.laws.losses.loss_law import FEWEST_STEPS, LAW, expression_at

POSITIVE = frozenset(("pos", "positive", "positives", "similar"))
NEGATIVE = frozenset(("neg", "negative", "negatives", "dissimilar"))
ROLES = ("anchor", "positive", "negative")
SHORT = (
    frozenset(("a", "anc", "anchor", "anchors", "q", "query", "ref")),
    POSITIVE | {"p"},
    NEGATIVE | {"n"},
)
"""What anchor, positive and negative are called side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmetPrecondition(BrokenLaw):
    """At a line that computes a loss."""

    checked: PreconditionSite


class BlankAmongTargets(UnmetPrecondition):
    """A CTC loss whose blank is a class that targets name."""


class TargetsNotSigns(UnmetPrecondition):
    """A loss that takes 1 and -1 is given 1 and 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TripletSwapped(UnmetPrecondition):
    """A triplet loss has its negative where the positive belongs."""

    positive: Expression | None
    negative: Expression | None
    """As they are given."""


def unmet_preconditions(case: Case) -> Iterator[UnmetPrecondition]:
    for measure in case.recording.all(LossPreconditions):
        for site in measure.sites:
            if measure.process.rank in (None, 0) and site.looked and site.place is not None:
                yield from blank_among_targets(site, case)
                yield from targets_not_signs(site, case)
                yield from triplet_swapped(site, case)


def broken_at(site: PreconditionSite, case: Case, said: str, *facts: Fact) -> dict[str, object]:
    assert site.place is not None
    calls = f"{counted(site.looked, 'call')} looked at, of {site.calls:,}"
    return {
        "use": expression_at(case.recording, site.place),
        "said": said,
        "facts": (*facts, Fact(code(site.name), calls)),
        "steps": FEWEST_STEPS,
        "fault": f"{LAW.name} {site.place} {site.name}",
        "checked": site,
    }


def blank_among_targets(site: PreconditionSite, case: Case) -> Iterator[BlankAmongTargets]:
    if site.name != CTC or not site.blanks:
        return
    said = (
        f"{site.blanks:,} of {site.elements:,} targets of the CTC loss are its blank,"
        f" {site.blank}: a class that is to be read cannot be the blank, too."
    )
    classes = Fact("classes", f"{site.classes}, the blank among them")
    yield BlankAmongTargets(**broken_at(site, case, said, classes))  # type: ignore[arg-type]


def targets_not_signs(site: PreconditionSite, case: Case) -> Iterator[TargetsNotSigns]:
    """With some of -1 a zero can be a tie, which is to count for nothing."""
    if site.name not in SIGNS or not site.zeros or site.negatives:
        return
    said = (
        f"{code(site.name)} takes targets of 1 and -1, and {site.zeros:,} of {site.elements:,} are"
        " 0, none is -1: these rows are not told apart."
    )
    yield TargetsNotSigns(**broken_at(site, case, said))  # type: ignore[arg-type]


def triplet_swapped(site: PreconditionSite, case: Case) -> Iterator[TripletSwapped]:
    if site.name not in TRIPLETS:
        return
    loss = loss_call_at(case, site.place, site.name)
    positive, negative = sides_of(loss, case)
    by_name = is_named(positive, NEGATIVE, POSITIVE) and is_named(negative, POSITIVE, NEGATIVE)
    by_name = by_name or is_in_order(loss, (0, 2, 1))
    if not (by_name or site.swapped == site.looked):
        return
    reason = (
        f"by their names (`{positive.text}`, `{negative.text}`) they are the other way round"
        if by_name and positive and negative
        else "the positive is the negative with its rows in another order"
    )
    said = f"{code(site.name)} takes anchor, positive and negative, and {reason}."
    yield TripletSwapped(
        **broken_at(site, case, said),  # type: ignore[arg-type]
        positive=positive,
        negative=negative,
    )


def sides_of(loss: WrittenLoss | None, case: Case) -> tuple[Expression | None, Expression | None]:
    if loss is None:
        return None, None
    first = loss.source.argument(loss.call, "positive", 1)
    second = loss.source.argument(loss.call, "negative", 2)
    if first is None or second is None:
        return None, None
    return case.expression(loss.source, first), case.expression(loss.source, second)


def is_in_order(loss: WrittenLoss | None, order: tuple[int, ...]) -> bool:
    """Anchor, negative, positive, say, by all that their texts do not share: `x[a]`, `x[n]`,
    `x[p]`."""
    sides = (
        [loss.source.argument(loss.call, name, at) for at, name in enumerate(ROLES)] if loss else []
    )
    texts = [loss.source.segment(side) for side in sides if loss and side is not None]
    if len(texts) != len(ROLES):
        return False
    before = shared(texts)
    after = shared([text[before:][::-1] for text in texts])
    parts = [text[before : len(text) - after].strip("_").lower() for text in texts]
    return all(part in SHORT[role] for part, role in zip(parts, order, strict=True))


def shared(texts: list[str]) -> int:
    """Letters that all begin with."""
    return sum(
        1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    )


def is_named(side: Expression | None, words: frozenset[str], others: frozenset[str]) -> bool:
    known = words_of(side.text) if side is not None else frozenset()
    return bool(known & words) and not known & others
