"""How figures of features in evaluation stand to those in training: scale, order, constants."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from statistics import median

from surefit.doctor.measures.phase_inputs import FeatureFigures, PhaseInput

MOST = 0.6
"""Share of features that must agree on a relation."""
EXTREME = 10.0
"""Times as wide, or widths away: no sample of the same rows, no augmentation and no other season
looks like that in most features."""
CLEAR = 4.0
"""The same where the source shows the cause, too."""
NOTABLE = 1.8
APART = 0.3
"""Widths between means of features that are below 0 in one phase alone."""
BELOW = 0.2
"""Share of elements below 0 in that phase."""
FEWEST_FEATURES = 3
SPARSE = 0.5
"""Share of zeros from which the width of a feature depends on which rows were looked at."""
OTHER = 12.0
"""Standard errors between a feature and the one at its position."""
SAME = 5.0
"""Standard errors up to which two features can be the same."""
TAILS = 3.0
"""Widths are less certain than of normal numbers by this."""

Features = Sequence[FeatureFigures]


@dataclass(frozen=True, slots=True)
class ScaleChange:
    """Most features are wider, or elsewhere, in evaluation."""

    factor: float
    """Width in evaluation by that in training, in the median."""
    features: int
    compared: int
    extreme: bool
    """So much, or in such a way, that nothing but another preparation does it."""
    clear: bool = False
    """So much that it is another preparation where the source has one."""


@dataclass(frozen=True, slots=True)
class OrderChange:
    """The same features at other positions."""

    moved: tuple[tuple[int, int], ...]
    """Position in training, position in evaluation."""


def scale_change(trained: PhaseInput, evaluated: PhaseInput) -> ScaleChange | None:
    pairs = [
        (first, second)
        for first, second in zip(trained.features, evaluated.features, strict=False)
        if first.spread and second.spread and not is_sparse(trained, first, second)
    ]
    if not pairs or len(trained.features) != len(evaluated.features):
        return None
    notable = [pair for pair in pairs if is_beyond(*pair, NOTABLE)]
    extreme = [pair for pair in pairs if is_beyond(*pair, EXTREME, alone=len(pairs) == 1)]
    signs = trained.axis == "channel" and differ_in_sign(pairs)  # windows of a series rise as one
    if len(notable) < MOST * len(pairs) and not signs:
        return None
    factor = median(second.spread / first.spread for first, second in pairs)
    certain = signs or len(extreme) >= MOST * len(pairs)
    clear = sum(is_beyond(*pair, CLEAR, alone=len(pairs) == 1) for pair in pairs)
    return ScaleChange(factor, len(notable), len(pairs), certain, clear >= MOST * len(pairs))


def is_sparse(trained: PhaseInput, first: FeatureFigures, second: FeatureFigures) -> bool:
    return trained.axis == "feature" and max(first.zeros, second.zeros) > SPARSE


def is_beyond(
    first: FeatureFigures, second: FeatureFigures, times: float, alone: bool = False
) -> bool:
    """Of one feature alone the width is not enough: outliers are as wide."""
    distance = abs(away(first, second))
    ratio = second.spread / first.spread
    wider = not 1 / times < ratio < times and (not alone or distance > NOTABLE)
    return wider or distance > times


def away(first: FeatureFigures, second: FeatureFigures) -> float:
    """Between the means, in widths of the wider one."""
    return (second.mean - first.mean) / (max(first.spread, second.spread) or inf)


def differ_in_sign(pairs: list[tuple[FeatureFigures, FeatureFigures]]) -> bool:
    """Centred in one phase alone: noise and contrast leave the means where they were. A channel or
    two must be much wider in it, too."""
    widths = [second.spread / first.spread for first, second in pairs]
    if len(pairs) < FEWEST_FEATURES and any(1 / CLEAR < width < CLEAR for width in widths):
        return False
    lost = [pair for pair in pairs if pair[0].negative > BELOW and pair[1].least >= 0]
    gained = [pair for pair in pairs if pair[1].negative > BELOW and pair[0].least >= 0]
    up = [pair for pair in lost if away(*pair) > APART]
    down = [pair for pair in gained if away(*pair) < -APART]
    return max(len(up), len(down)) >= MOST * len(pairs)


def order_change(trained: PhaseInput, evaluated: PhaseInput) -> OrderChange | None:
    """Every feature has one at another position that it can be, and none at its own; of those that
    did not move the other way round."""
    first, second = trained.features, evaluated.features
    if len(first) != len(second) or len(first) < 2:
        return None
    apart = [
        [errors_apart(left, right, trained.rows, evaluated.rows) for right in second]
        for left in first
    ]
    places = [min(range(len(row)), key=row.__getitem__) for row in apart]
    if sorted(places) != list(range(len(first))):
        return None
    moved = [(at, place) for at, place in enumerate(places) if at != place]
    fits = all(apart[at][place] < SAME for at, place in enumerate(places))
    if not moved or not fits or not all(apart[at][at] > OTHER for at, _ in moved):
        return None
    numbers = trained.chosen or tuple(range(len(first)))
    return OrderChange(tuple((numbers[at], numbers[place]) for at, place in moved))


def errors_apart(
    first: FeatureFigures, second: FeatureFigures, first_rows: int, second_rows: int
) -> float:
    """Standard errors between means or between widths, whichever are more."""
    if not first.spread or not second.spread:
        return 0.0 if first == second else inf
    error = sqrt(first.row_spread**2 / first_rows + second.row_spread**2 / second_rows)
    means = abs(first.mean - second.mean) / error if error else inf
    width_error = TAILS * sqrt(0.5 / first_rows + 0.5 / second_rows)
    return max(means, abs(log(first.spread / second.spread)) / width_error)


def absent(first: PhaseInput, second: PhaseInput) -> Iterator[int]:
    """Features that are 0 in every row of the second and in none of the first."""
    if len(first.features) != len(second.features):
        return
    numbers = first.chosen or tuple(range(len(first.features)))
    for number, left, right in zip(numbers, first.features, second.features, strict=False):
        if left.spread and not left.zeros and right.least == right.greatest == 0:
            yield number
