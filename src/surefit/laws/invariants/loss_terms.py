"""The terms of a loss are reduced alike: all are sums over the rows of a batch, or all are means.

A sum grows with the batch and with the elements of a row, and a mean does not: where one is added
to the other, nobody has decided how much either of them counts.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from surefit.doctor.findings import Fact
from surefit.doctor.measures.loss_terms import LossTerm, LossTerms, SummedLoss
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted, shape_of
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.losses.loss_law import FEWEST_STEPS, expression_at

LAW = Law("loss_terms", "the terms of a loss are all summed or all averaged over the rows")
ROW_SUM = "row sum"
FEWEST_PASSES = 8
"""That were looked at, each twice as late as the one before, until a divergence has vanished."""
FEWEST_INSIDE = 16
"""Elements of a row of the averaged term, beside a sum over the elements of each row."""
FEWEST_ELEMENTS = 64
"""Of the averaged term: fewer do not let the other one outweigh it."""
PART_OF_A_FORMULA = (0.5, 1.0, 2.0)
"""Factors that stand in formulas, as of a divergence; any other number is a weight that somebody
chose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsReducedDifferently(BrokenLaw):
    """A mean over the batch and its elements, and a sum over the batch, are added."""

    averaged: LossTerm
    summed: LossTerm


def violations_of(case: Case) -> Iterator[TermsReducedDifferently]:
    for loss in losses(case.recording):
        for averaged, summed in uneven_pairs(loss):
            early = summed.reduction == ROW_SUM and loss.looked < FEWEST_PASSES
            if loss.place is None or early:
                continue
            times = times_as_much(averaged, summed)
            rows = " elements of each row" if summed.reduction == ROW_SUM else ""
            yield TermsReducedDifferently(
                use=expression_at(case.recording, loss.place),
                said=f"The loss adds a mean over {prod(averaged.shape):,} elements and a sum over"
                f" {summed_elements(summed):,}{rows}: an element of the sum counts {times:,} times"
                " as much.",
                facts=(term_fact("averaged", averaged), term_fact("summed", summed)),
                steps=FEWEST_STEPS,
                fault=f"{LAW.name} {loss.place}",
                averaged=averaged,
                summed=summed,
            )
            break


def losses(recording: Recording) -> Iterator[SummedLoss]:
    """Of every process; of several ranks, of the first."""
    for measure in recording.of_first_rank(LossTerms):
        yield from measure.losses


def uneven_pairs(loss: SummedLoss) -> Iterator[tuple[LossTerm, LossTerm]]:
    for number, averaged in enumerate(loss.terms):
        if is_mean_of_elements(averaged):
            for summed in loss.terms:
                if number in summed.shared and is_sum_of_rows(summed, averaged):
                    yield averaged, summed


def is_mean_of_elements(term: LossTerm) -> bool:
    """Of rows with several elements each; a mean of one number for each row goes with a sum over
    the steps of an episode in reinforcement learning."""
    inside = prod(term.shape[1:])
    return (
        term.reduction == "mean"
        and len(term.shape) > 1 < term.shape[0]
        and inside > 1
        and prod(term.shape) >= FEWEST_ELEMENTS
        and is_unweighted(term)
    )


def is_sum_of_rows(term: LossTerm, averaged: LossTerm) -> bool:
    """A sum over the elements of each row counts as one where it is a divergence that it has made
    vanish: until then, somebody may have weighed them so."""
    if term.shape[:1] != averaged.shape[:1] or not is_unweighted(term):
        return False
    wide = prod(averaged.shape[1:]) >= FEWEST_INSIDE
    return term.reduction == "sum" or (term.reduction == ROW_SUM and term.vanished and wide)


def times_as_much(averaged: LossTerm, summed: LossTerm) -> int:
    """An element of the sum, beside one of the mean."""
    shape = averaged.shape[1:] if summed.reduction == ROW_SUM else averaged.shape
    return prod(shape)


def summed_elements(summed: LossTerm) -> int:
    return prod(summed.shape[1:] if summed.reduction == ROW_SUM else summed.shape)


def is_unweighted(term: LossTerm) -> bool:
    """Nobody has chosen how much it counts. Two numbers are a formula's own and a weight."""
    return not term.weighted and term.factors <= 1 and abs(term.factor) in PART_OF_A_FORMULA


def term_fact(name: str, term: LossTerm) -> Fact:
    return Fact(name, f"{code(term.operation)} over {shape_of(term.shape)}")


def watched(recording: Recording) -> MeasuredOn:
    looked = [loss for loss in losses(recording) if len(loss.terms) > 1]
    if not looked:
        return MeasuredOn(why_not="no loss of several terms was seen")
    terms = max(len(loss.terms) for loss in looked)
    passes = counted(sum(loss.looked for loss in looked), "backward pass")
    return MeasuredOn(on=f"{terms} terms at {passes}")
