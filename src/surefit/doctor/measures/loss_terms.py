"""The terms that a loss is the sum of, as its graph has them."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class LossTerm:
    """One operand of the sum that a loss is."""

    reduction: str
    """`mean` or `sum` over all elements of a tensor, which has `shape`; `row sum` for the mean over
    the rows of what each of them sums up."""
    operation: str
    """That reduces: `mse_loss`; `sum` and `mean` where the script does it itself."""
    shape: tuple[int, ...]
    factor: float = 1.0
    """What the term is multiplied by before it is added; `factors` are how many numbers."""
    factors: int = 0
    weighted: bool = False
    """Its elements are multiplied by a tensor that no gradient passes: weights, a mask."""
    vanished: bool = False
    """Of a `row sum`: it is a KL divergence, by its form, and nearly all variances in it, or ratios
    of them, are 1, as where it is 0."""
    attached_target: int | None = None
    """Of a comparison of two outputs, which side, 0 or 1, comes out of layers that are a part of
    the other side's, and gets a gradient all the same."""
    shared: tuple[int, ...] = ()
    """Other terms, by their number, that are computed from a tensor which this one is computed
    from, too; parameters are not computed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedLoss:
    """What `backward` was called on at one line."""

    place: Place | None
    looked: int
    terms: tuple[LossTerm, ...]
    """As they were the last time, where all of them are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossTerms(Measure):
    """In one process."""

    losses: tuple[SummedLoss, ...] = ()
