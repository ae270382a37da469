"""What an evaluation can report by each metric: the right values, and those that known mistakes
give.

A mistake is in how batches are reduced to one number (`REDUCTIONS`), or in how predictions are read
(`WrongReading`), and applies to every metric alike.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from surefit.doctor.scoring.counts import ScoreCounts
from surefit.doctor.scoring.metrics import METRICS, Metric, divided, mean

MOST_BATCHES = 512
"""Of which each is reduced by itself."""
OVER_BATCHES = " over batches"
"""After a metric's name: the mean of its values for each batch, which most people report."""
EXTREME = "extreme"

CONFUSED: dict[str, tuple[str, ...]] = {
    "precision": ("recall",),
    "recall": ("precision",),
    "F1 macro": ("F1 micro", "F1 weighted"),
    "F1 micro": ("F1 macro",),
    "F1 weighted": ("F1 macro",),
    "root of the mean squared error": ("mean squared error",),
    "mean absolute error": ("mean squared error",),
}
"""Metrics that are reported under the name of another: by swapped arguments, or another average."""


@dataclass(frozen=True, slots=True)
class Right:
    """A value that a metric has."""

    metric: str
    value: float


@dataclass(frozen=True, slots=True)
class Wrong:
    """A value that a mistake gives, and what is right."""

    variant: str
    metric: str
    value: float
    expected: float


@dataclass(slots=True)
class Evaluated:
    """Batches of one kind in one evaluation."""

    kind: str
    batches: list[ScoreCounts] = field(default_factory=list)
    readings: dict[str, list[ScoreCounts]] = field(default_factory=dict)
    """Mistake -> the same batches, read with it."""
    earlier: ScoreCounts | None = None
    """All evaluations before, together."""
    before: ScoreCounts | None = None
    """The evaluation before this one."""
    known: dict[str, list[float]] = field(default_factory=dict)
    """Values of each batch that have been computed, by metric."""
    sums: dict[str, tuple[int, ScoreCounts]] = field(default_factory=dict)
    """Batches that have been added up, by how they are read."""

    def of_each(self, metric: Metric) -> list[float]:
        values = self.known.setdefault(metric.name, [])
        values += [metric.formula(batch) for batch in self.batches[len(values) :]]
        return values

    def whole(self, mistake: str = "") -> ScoreCounts:
        """All batches together."""
        batches = self.readings[mistake] if mistake else self.batches
        done, total = self.sums.get(mistake, (1, batches[0]))
        for batch in batches[done:]:
            total = total + batch
        self.sums[mistake] = len(batches), total
        return total


Reduction = Callable[[Metric, Evaluated, ScoreCounts], Iterable[float]]


def rights(evaluated: Evaluated, metrics: Sequence[Metric]) -> Iterator[Right]:
    """Over all rows; of each batch, the mean and the extremes."""
    every = evaluated.whole()
    for metric in metrics:
        yield Right(metric.name, metric.formula(every))
        if 1 < len(evaluated.batches) <= MOST_BATCHES:
            values = evaluated.of_each(metric)
            yield Right(metric.name + OVER_BATCHES, mean(values))
            yield Right(EXTREME, max(values))
            yield Right(EXTREME, min(values))


def wrongs(evaluated: Evaluated, metrics: Sequence[Metric]) -> Iterator[Wrong]:
    every = evaluated.whole()
    for metric in metrics:
        expected = metric.formula(every)
        if math.isnan(expected):
            continue
        for variant, value in mistaken(metric, evaluated, every):
            if value == value:
                yield Wrong(variant, metric.name, value, expected)


def mistaken(
    metric: Metric, evaluated: Evaluated, every: ScoreCounts
) -> Iterator[tuple[str, float]]:
    if 1 < len(evaluated.batches) <= MOST_BATCHES:
        for variant, reduction in REDUCTIONS.items():
            yield from ((variant, value) for value in reduction(metric, evaluated, every))
    for variant, batches in evaluated.readings.items():
        if len(batches) == len(evaluated.batches) <= MOST_BATCHES:
            total = evaluated.whole(variant)
            yield from ((variant, value) for value in misread(metric, total, batches))
    if every.labels < every.rows and metric.above is not None:
        yield "ignored labels counted", divided(metric.above(every), every.rows)
    if evaluated.before is not None:
        yield "evaluation before", metric.formula(evaluated.before)
    if evaluated.earlier is not None and metric.above and metric.below:
        total = every + evaluated.earlier
        yield "not reset", metric.formula(total)
        yield "not reset", divided(metric.above(total), metric.below(every))


def misread(metric: Metric, every: ScoreCounts, batches: list[ScoreCounts]) -> Iterator[float]:
    yield metric.formula(every)
    yield mean([metric.formula(batch) for batch in batches])
    if metric.above is not None:
        yield divided(metric.above(every), every.rows)


def divided_in_the_loop(
    metric: Metric, evaluated: Evaluated, _every: ScoreCounts
) -> Iterator[float]:
    values = evaluated.of_each(metric)
    count = len(values)
    for divisors in (range(1, count + 1), [count] * count):
        running = 0.0
        for value, divisor in zip(values, divisors, strict=True):
            running = (running + value) / divisor
        yield running


def last_batch(metric: Metric, evaluated: Evaluated, _every: ScoreCounts) -> Iterator[float]:
    yield evaluated.of_each(metric)[-1]


def first_batch(metric: Metric, evaluated: Evaluated, _every: ScoreCounts) -> Iterator[float]:
    yield evaluated.of_each(metric)[0]


def batch_means(metric: Metric, evaluated: Evaluated, _every: ScoreCounts) -> Iterator[float]:
    if not metric.name.endswith(OVER_BATCHES):
        yield mean(evaluated.of_each(metric))


def sum_of_batches(metric: Metric, evaluated: Evaluated, _every: ScoreCounts) -> Iterator[float]:
    """Of shares, which nobody adds up; sums of losses are reported as such."""
    if metric.kind != "losses" and metric.name != "number right":
        yield math.fsum(evaluated.of_each(metric))


def last_over_all(metric: Metric, evaluated: Evaluated, every: ScoreCounts) -> Iterator[float]:
    if metric.above is not None and metric.below is not None:
        yield divided(metric.above(evaluated.batches[-1]), metric.below(every))


def all_over_last(metric: Metric, evaluated: Evaluated, every: ScoreCounts) -> Iterator[float]:
    if metric.above is not None and metric.below is not None:
        yield divided(metric.above(every), metric.below(evaluated.batches[-1]))


def means_over_rows(metric: Metric, evaluated: Evaluated, every: ScoreCounts) -> Iterator[float]:
    total = math.fsum(evaluated.of_each(metric)) if metric.above is not None else math.nan
    if every.rows > every.batches:
        yield divided(total, every.rows)
    if every.items > every.batches:
        yield divided(total, every.items)


def rows_over_batches(metric: Metric, evaluated: Evaluated, every: ScoreCounts) -> Iterator[float]:
    if metric.above is not None and any(batch.rows > 1 for batch in evaluated.batches):
        yield divided(metric.above(every), every.batches)


def full_batches(metric: Metric, evaluated: Evaluated, every: ScoreCounts) -> Iterator[float]:
    """The last one is smaller, and counted as if it were not."""
    first, last = evaluated.batches[0], evaluated.batches[-1]
    if metric.above is not None and metric.below is not None and last.rows < first.rows:
        yield divided(metric.above(every), metric.below(first) * every.batches)


REDUCTIONS: dict[str, Reduction] = {
    "divided in the loop": divided_in_the_loop,
    "last batch": last_batch,
    "first batch": first_batch,
    "mean of batch means": batch_means,
    "sum of batch means": sum_of_batches,
    "last batch over all rows": last_over_all,
    "all rows over the last batch": all_over_last,
    "batches over rows": means_over_rows,
    "rows over batches": rows_over_batches,
    "full batches counted": full_batches,
}


def other_metrics(named: Iterable[str], values: Iterable[Right]) -> Iterator[Wrong]:
    """Values of metrics that are reported under the name of another."""
    every = [right for right in values if not right.metric.endswith(OVER_BATCHES)]
    for name in named:
        for other in confused_with(name):
            own = [right for right in every if right.metric == name]
            expected = next((right.value for right in own if right.value == right.value), None)
            if expected is not None:
                yield from (
                    Wrong(f"is the {right.metric}", name, right.value, expected)
                    for right in every
                    if right.metric == other and right.value == right.value
                )


def confused_with(name: str) -> Iterator[str]:
    """`recall macro` for `precision macro`."""
    for plain, others in CONFUSED.items():
        if name == plain or (name.startswith(f"{plain} ") and plain in ("precision", "recall")):
            yield from (other + name[len(plain) :] for other in others)


def metrics_of(kind: str, named: frozenset[str] | None) -> list[Metric]:
    """Of a kind; where a label names some, these."""
    own = [metric for metric in METRICS if metric.kind == kind]
    return own if named is None else [metric for metric in own if metric.name in named]
