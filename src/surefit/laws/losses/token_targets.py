"""Targets of a language model's loss that are not the tokens it should learn."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Place
from surefit.doctor.measures.loss_inputs import SHIFTS, Collated, CollatedLabels, TokenSite
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted
from surefit.laws.law import BrokenLaw
from surefit.laws.losses.loss_law import FEWEST_STEPS, LAW, expression_at, measures
from surefit.source.reading import Source, called

FEWEST_TOKENS = 32
FEWEST_ROWS = 4
FEWEST_BEGINNINGS = 16
SOME = 0.9
"""Of the targets: where so many are the next token, periodic rows explain another shift."""
MUCH_PADDING = 0.05
CAUSAL = re.compile(r"is_causal|causal|square_subsequent_mask|\btril\b|\btriu\b")
MOVES = ("roll", "pad", "shift_right", "shift")


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTokens(BrokenLaw):
    """Something that is wrong with the targets of one line."""

    site: TokenSite


class TargetIsTheInput(OfTokens):
    """The target of each position is the token that the model is given at that position."""


class PickedTargetIsTheInput(OfTokens):
    """The same of a model that sees all positions, at those that were picked as targets."""


class TargetIsTheTokenBefore(OfTokens):
    """The target of each position is the token before it."""


class TargetIsTheTokenAfterNext(OfTokens):
    """The target of each position is the token two positions on."""


class OneKindScored(OfTokens):
    """Every target that counts is one and the same token, and others are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstAnswerTokenLeftOut(OfTokens):
    """The first token after the prompt is not scored, and those after it are."""

    length: str
    """The name of the prompt's length."""


class OnlyBeginningsScored(OfTokens):
    """In every row the first tokens count and the last ones do not: a mask the wrong way round."""


class EndIsNoTarget(OfTokens):
    """Rows end with the end token, and it is never a target."""


class PaddingScored(OfTokens):
    """Positions of padding take part in the loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsReplaced(BrokenLaw):
    """A collator makes labels of its own, and those of the rows are lost."""

    collated: Collated


def violations_on_tokens(recording: Recording) -> Iterator[BrokenLaw]:
    yield from labels_replaced(recording)
    for measure in measures(recording):
        next_somewhere = any(share(site, 1) > SOME for site in measure.tokens)
        for site in measure.tokens:
            if site.place is None:
                continue
            if not next_somewhere:
                yield from shifted(site, recording)
            yield from list(left_out(site, recording))[:1]
            yield from padding_scored(site, recording)


def share(site: TokenSite, shift: int) -> float:
    """Of the scored targets that are the token so many positions on."""
    at = SHIFTS.index(shift)
    return site.matches[at] / site.compared[at] if site.compared[at] else 0.0


def broken(site: TokenSite, recording: Recording, said: str, *facts: Fact) -> dict[str, object]:
    assert site.place is not None
    size = f"{site.rows} rows of {site.width} tokens; {counted(site.looked, 'step')} looked at"
    return {
        "use": expression_at(recording, place_of(site, recording) or site.place),
        "said": said,
        "facts": (*facts, Fact("batch", size)),
        "steps": FEWEST_STEPS,
        "fault": f"{LAW.name} {site.place} {site.name}",
        "site": site,
    }


def place_of(site: TokenSite, recording: Recording) -> Place | None:
    """Where log-probabilities are picked by hand, if that is at one line alone."""
    found = {
        Place(source.file, call.lineno)
        for source, call in recording.every(ast.Call)
        if called(call) == site.name == "gather"
    }
    return found.pop() if len(found) == 1 else None


def compared_fact(site: TokenSite) -> Fact:
    names = {-1: "the token before", 0: "the same token", 1: "the next token", 2: "the one after"}
    parts = [f"{names[shift]} {share(site, shift):.0%}" for shift in SHIFTS]
    return Fact("targets that are", ", ".join(parts))


def shifted(site: TokenSite, recording: Recording) -> Iterator[OfTokens]:
    def all_at(shift: int) -> bool:
        at = SHIFTS.index(shift)
        return FEWEST_TOKENS <= site.compared[at] == site.matches[at]

    fact = compared_fact(site)
    of_all = f"{site.scored:,} of {site.scored:,} targets are"
    if all_at(2) and share(site, 0) < SOME:
        said = f"{of_all} the token two positions on: labels are shifted twice."
        yield TargetIsTheTokenAfterNext(**broken(site, recording, said, fact))  # type: ignore[arg-type]
    elif not is_causal(site, recording):
        if all_at(0) and site.unscored > site.scored:
            said = f"{of_all} the token that the model is given at that position."
            yield PickedTargetIsTheInput(
                **broken(site, recording, said, fact) | {"certain": False}  # type: ignore[arg-type]
            )
    elif all_at(0):
        said = f"{of_all} the token that the model is given at that position: they are not shifted."
        yield TargetIsTheInput(**broken(site, recording, said, fact))  # type: ignore[arg-type]
    elif all_at(-1):
        said = f"{of_all} the token before: they are shifted the wrong way."
        yield TargetIsTheTokenBefore(**broken(site, recording, said, fact))  # type: ignore[arg-type]


def is_causal(site: TokenSite, recording: Recording) -> bool:
    """A position sees no later one, and nothing in the model moves tokens by one position: an
    autoencoder's targets are its inputs by design."""
    sources = list(recording.sources())
    told = site.causal or any(CAUSAL.search(source.text) for source in sources)
    return told and not any(moves_inside(source) for source in sources)


def moves_inside(source: Source) -> bool:
    for function in source.every(ast.FunctionDef):
        if function.name != "forward":
            continue
        for node in ast.walk(function):
            match node:
                case ast.Slice(upper=ast.UnaryOp(op=ast.USub())):
                    return True
                case ast.Call() if called(node) in MOVES:
                    return True
    return False


def left_out(site: TokenSite, recording: Recording) -> Iterator[OfTokens]:
    if share(site, 1) < 1:
        return
    if site.constant is not None and site.others and site.scored >= FEWEST_ROWS:
        said = (
            f"Every target that counts is the token {site.constant}: {site.scored:,} scored, and"
            f" {site.others:,} other tokens of the same rows are not."
        )
        yield OneKindScored(**broken(site, recording, said))  # type: ignore[arg-type]
        return
    name = late_start(site)
    if name:
        first = site.lengths[name]
        said = (
            f"The first token after the prompt, at position {first} (`{name}` is {first}), is never"
            f" scored; the first that is stands at position {first + 1}."
        )
        yield FirstAnswerTokenLeftOut(
            **broken(site, recording, said),  # type: ignore[arg-type]
            length=name,
        )
        return
    if site.beginnings >= FEWEST_BEGINNINGS and site.beginnings == site.rows_looked:
        said = (
            f"In all {site.beginnings:,} rows looked at the first tokens are targets and the last"
            " ones are not: the mask of the labels is the wrong way round."
        )
        yield OnlyBeginningsScored(**broken(site, recording, said))  # type: ignore[arg-type]
        return
    if site.ends >= FEWEST_ROWS and not site.ends_scored:
        because = ", which is the padding token, too," if site.end_is_pad else ""
        said = (
            f"The end token {site.end}{because} is a target in none of {site.ends:,} rows, though"
            " each of them ends with it."
        )
        yield EndIsNoTarget(**broken(site, recording, said))  # type: ignore[arg-type]


def late_start(site: TokenSite) -> str:
    """The name of a prompt's length one position after which the first target stands; not where
    all rows begin with one token, which such a length often leaves out."""
    if site.first_scored is None or site.begins_alike or not site.unscored:
        return ""
    least, greatest = site.first_scored
    names = [name for name, length in site.lengths.items() if least == greatest == length + 1]
    others = set(site.lengths.values()) - {least - 1}
    return names[0] if names and not others else ""


def padding_scored(site: TokenSite, recording: Recording) -> Iterator[PaddingScored]:
    part = site.padded_scored / site.scored if site.scored else 0.0
    if part < MUCH_PADDING or site.padded_scored < FEWEST_ROWS or site.name == "gather":
        return
    said = (
        f"{site.padded_scored:,} of {site.scored:,} targets ({part:.0%}) of {code(site.name)} are"
        " at positions of padding."
    )
    yield PaddingScored(**broken(site, recording, said))  # type: ignore[arg-type]


def labels_replaced(recording: Recording) -> Iterator[LabelsReplaced]:
    for measure in recording.all(CollatedLabels):
        for collated in measure.collators:
            if collated.made_at is None or collated.supervised_after <= collated.supervised:
                continue
            if collated.supervised == collated.labels:
                continue
            said = (
                f"{code(collated.kind)} replaces the labels of the rows:"
                f" {collated.supervised:,} of {collated.labels:,} were to be learned, and"
                f" {collated.supervised_after:,} are in the batch."
            )
            yield LabelsReplaced(
                use=expression_at(recording, collated.made_at),
                said=said,
                steps=FEWEST_STEPS,
                fault=f"{LAW.name} {collated.made_at}",
                collated=collated,
            )
