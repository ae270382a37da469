"""The metrics that an evaluation reports, each as a formula on counts."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from surefit.doctor.scoring.counts import TOPS, ScoreCounts

Number = Callable[[ScoreCounts], float]

CLASSES, NUMBERS, LOSSES = "classes", "numbers", "losses"
AVERAGES = ("of class 1", "macro", "macro of all classes", "weighted", "micro")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A number that follows from counts."""

    name: str
    kind: str
    """Counts of what: predicted classes, predicted numbers, or losses."""
    formula: Number
    above: Number | None = None
    below: Number | None = None
    """Where it is a ratio of sums over rows."""


def ratio(name: str, kind: str, above: Number, below: Number) -> Metric:
    def formula(counts: ScoreCounts) -> float:
        return divided(above(counts), below(counts))

    return Metric(name=name, kind=kind, formula=formula, above=above, below=below)


def divided(above: float, below: float) -> float:
    return above / below if below else math.nan


def root(number: float) -> float:
    return math.sqrt(number) if number >= 0 else math.nan


def exp(number: float) -> float:
    return math.exp(number) if number < 80 else math.inf


def of_classes() -> Iterator[Metric]:
    yield ratio("accuracy", CLASSES, lambda c: c.right, lambda c: c.labels)
    yield Metric(name="error rate", kind=CLASSES, formula=lambda c: 1 - divided(c.right, c.labels))
    yield Metric(name="number right", kind=CLASSES, formula=lambda c: float(c.right))
    for at, top in enumerate(TOPS):
        yield ratio(f"top {top}", CLASSES, among(at), lambda c: c.labels)
    yield ratio("reciprocal rank", CLASSES, lambda c: c.reciprocal, lambda c: c.labels)
    yield ratio("exact match", CLASSES, lambda c: c.exact, lambda c: c.items)
    yield Metric(name="balanced accuracy", kind=CLASSES, formula=balanced)
    for score, formula in SCORES.items():
        for average in AVERAGES:
            yield Metric(name=f"{score} {average}", kind=CLASSES, formula=scored(formula, average))
    yield Metric(name="area under the curve", kind=CLASSES, formula=area)
    yield Metric(name="average precision", kind=CLASSES, formula=average_precision)


def among(at: int) -> Number:
    return lambda c: c.among[at] if len(c.among) > at else math.nan


def balanced(counts: ScoreCounts) -> float:
    return mean([both / actual for _, actual, both in counts.table if actual])


def mean(numbers: list[float]) -> float:
    return math.fsum(numbers) / len(numbers) if numbers else math.nan


Score = Callable[[int, int, int], float]
SCORES: dict[str, Score] = {
    "F1": lambda predicted, actual, both: 2 * both / max(1, predicted + actual),
    "precision": lambda predicted, _actual, both: both / max(1, predicted),
    "recall": lambda _predicted, actual, both: both / max(1, actual),
    "IoU": lambda predicted, actual, both: both / max(1, predicted + actual - both),
}
"""Of one class: from rows predicted to be it, rows that are, and both; Dice is F1."""


def scored(score: Score, average: str) -> Number:
    def formula(counts: ScoreCounts) -> float:
        table = counts.table
        if not table or (average == "of class 1" and len(table) != 2):
            return math.nan
        if average == "of class 1":
            return score(*table[1])
        if average == "micro":
            predicted, actual, both = (sum(column) for column in zip(*table, strict=True))
            return score(predicted, actual, both)
        if average == "weighted":
            rows = sum(actual for _, actual, _ in table)
            return divided(math.fsum(score(*known) * known[1] for known in table), rows)
        every = average == "macro of all classes"
        return mean([score(*known) for known in table if every or known[0] or known[1]])

    return formula


def area(counts: ScoreCounts) -> float:
    """The share of pairs of both classes that are in the right order; ties count half."""
    positives = sum(wanted for _, wanted in counts.scores)
    negatives = len(counts.scores) - positives
    if not positives or not negatives:
        return math.nan
    ahead, below = 0.0, 0
    for above, others in steps(counts):
        ahead += above * (below + others / 2)
        below += others
    return ahead / (positives * negatives)


def steps(counts: ScoreCounts) -> Iterator[tuple[int, int]]:
    """Rows of the second and of the first class for each different score, from the lowest."""
    ordered = sorted(counts.scores)
    at = 0
    while at < len(ordered):
        end = at
        while end < len(ordered) and ordered[end][0] == ordered[at][0]:
            end += 1
        above = sum(wanted for _, wanted in ordered[at:end])
        yield above, end - at - above
        at = end


def average_precision(counts: ScoreCounts) -> float:
    positives = sum(wanted for _, wanted in counts.scores)
    if not positives:
        return math.nan
    total, found, rows = 0.0, 0, 0
    for above, others in reversed(list(steps(counts))):
        found, rows = found + above, rows + above + others
        total += above * found / rows
    return total / positives


def of_numbers() -> Iterator[Metric]:
    squares = ratio("mean squared error", NUMBERS, lambda c: c.squared, lambda c: c.labels)
    yield squares
    yield Metric(
        name="root of the mean squared error",
        kind=NUMBERS,
        formula=lambda c: root(squares.formula(c)),
    )
    yield ratio("mean absolute error", NUMBERS, lambda c: c.absolute, lambda c: c.labels)
    yield ratio("mean absolute percentage error", NUMBERS, lambda c: c.relative, lambda c: c.labels)
    yield Metric(name="R squared", kind=NUMBERS, formula=explained)
    yield Metric(name="sum", kind=NUMBERS, formula=lambda c: c.squared)
    yield Metric(name="sum", kind=NUMBERS, formula=lambda c: c.absolute)


def explained(counts: ScoreCounts) -> float:
    """R squared."""
    spread = counts.wanted_squared - divided(counts.wanted**2, counts.labels)
    return 1 - divided(counts.squared, spread) if spread > 0 else math.nan


def of_losses() -> Iterator[Metric]:
    """`loss` weighs labels, `loss of rows` rows, `loss over batches` batches."""
    for name, plain in (
        ("loss", ratio("loss", LOSSES, lambda c: c.loss, lambda c: c.labels)),
        ("loss of rows", ratio("loss of rows", LOSSES, lambda c: c.loss_of_rows, lambda c: c.rows)),
        ("loss over batches", ratio("", LOSSES, lambda c: c.means, lambda c: c.batches)),
    ):
        yield Metric(
            name=name, kind=LOSSES, formula=plain.formula, above=plain.above, below=plain.below
        )
        for other, turned in TURNED.items():
            yield Metric(name=f"{other} of {name}", kind=LOSSES, formula=after(turned, plain))
    yield Metric(name="sum", kind=LOSSES, formula=lambda c: c.loss)
    yield Metric(name="sum", kind=LOSSES, formula=lambda c: c.loss_of_rows)
    yield Metric(name="sum", kind=LOSSES, formula=lambda c: c.means)


TURNED: dict[str, Callable[[float], float]] = {
    "perplexity": exp,
    "root": root,
    "bits": lambda number: number / math.log(2),
}


def after(turned: Callable[[float], float], plain: Metric) -> Number:
    return lambda counts: turned(plain.formula(counts))


METRICS = (*of_classes(), *of_numbers(), *of_losses())
