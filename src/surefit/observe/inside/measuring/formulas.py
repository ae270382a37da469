"""What an evaluation can report of its batches: by the right formulas, and by known wrong ones.

Plain numbers only. Names of wrong formulas are keys of `laws/invariants/reported_numbers.py`.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

Named = tuple[str, float]
Wrong = tuple[str, float, float]
"""A wrong formula, what it gives, and what would be right."""
Table = tuple[tuple[int, int, int], ...]
"""See `ClassBatch`."""


@dataclass(slots=True)
class LossBatch:
    """One call of a loss in an evaluation."""

    value: float
    rows: int
    labels: int


@dataclass(slots=True)
class ClassBatch:
    """Predictions of one call, compared with its targets in several ways."""

    rows: int
    """Positions with a label, ignored ones counted."""
    labels: int
    right: int
    flat: int
    """Equal to the one index that an argmax over everything gives."""
    broadcast: int
    """Pairs of any prediction and any target that are equal."""
    zeros: int
    """Targets that are 0: an argmax over an axis of size one finds these."""
    half: int
    """Right, where logits are taken for probabilities: those above 0.5."""
    classes: int
    table: Table = ()
    """For each class: rows predicted to be it, rows that are, and rows that are both."""


@dataclass(slots=True)
class NumberBatch:
    """Predicted numbers of one call."""

    elements: int
    squared: float
    absolute: float
    pairs: int = 0
    """Elements after broadcasting (n, 1) with (n,)."""
    squared_pairs: float = 0.0
    absolute_pairs: float = 0.0


def mean(values: Iterable[float]) -> float:
    every = list(values)
    return math.fsum(every) / len(every) if every else math.nan


def exp(value: float) -> float:
    return math.exp(value) if value < 80 else math.inf


def right_losses(batches: list[LossBatch]) -> Iterator[Named]:
    values = [batch.value for batch in batches]
    total = math.fsum(values)
    by_rows = math.fsum(batch.value * batch.rows for batch in batches)
    by_labels = math.fsum(batch.value * batch.labels for batch in batches)
    plain = [mean(values)]
    rows, labels = sum(b.rows for b in batches), sum(b.labels for b in batches)
    plain += [by_rows / rows] if rows else []
    plain += [by_labels / labels] if labels else []
    for number in plain:
        yield "mean", number
        yield "perplexity", exp(number)
        yield "root of the mean", math.sqrt(number) if number >= 0 else math.nan
        yield "bits", number / math.log(2)
    yield "sum", total
    yield "sum", by_rows
    yield "sum", by_labels
    yield "mean", mean(exp(value) for value in values)
    yield "extreme", max(values)
    yield "extreme", min(values)


def wrong_losses(batches: list[LossBatch]) -> Iterator[Wrong]:
    count = len(batches)
    if count < 2:
        return
    values = [batch.value for batch in batches]
    for terms in (values, [exp(value) for value in values]):
        right = mean(terms)
        for divisors in (range(1, count + 1), [count] * count):
            running = 0.0
            for term, divisor in zip(terms, divisors, strict=True):
                running = (running + term) / divisor
            yield "divided in the loop", running, right
        yield "last batch", terms[-1], right
    rows = sum(batch.rows for batch in batches)
    if rows > count:
        yield "batches over rows", math.fsum(values) / rows, mean(values)
    weighted = math.fsum(batch.value * batch.rows for batch in batches)
    if any(batch.rows > 1 for batch in batches):
        yield "rows over batches", weighted / count, weighted / max(1, rows)


def right_classes(batches: list[ClassBatch]) -> Iterator[Named]:
    right = sum(batch.right for batch in batches)
    labels = sum(batch.labels for batch in batches)
    for share in (right / max(1, labels), mean(b.right / max(1, b.labels) for b in batches)):
        yield "accuracy", share
        yield "error rate", 1 - share
    yield "count", float(right)
    yield "extreme", max(batch.right / max(1, batch.labels) for batch in batches)
    yield "extreme", min(batch.right / max(1, batch.labels) for batch in batches)


def wrong_classes(batches: list[ClassBatch]) -> Iterator[Wrong]:
    labels = sum(batch.labels for batch in batches)
    right = sum(batch.right for batch in batches)
    if labels and all(batch.rows for batch in batches):
        for name, number in (*wrongly_compared(batches), *wrongly_divided(batches)):
            yield name, number, right / labels


def wrongly_compared(batches: list[ClassBatch]) -> Iterator[Named]:
    rows = sum(batch.rows for batch in batches)
    if any(batch.rows > 1 and batch.classes > 1 for batch in batches):
        yield "argmax over everything", sum(batch.flat for batch in batches) / rows
        yield "argmax over everything", mean(batch.flat / batch.rows for batch in batches)
    pairs = sum(batch.broadcast for batch in batches)
    yield "compared with every row", pairs / rows
    yield "compared with every row", pairs / sum(batch.rows**2 for batch in batches)
    yield "compared with every row", mean(batch.broadcast / batch.rows**2 for batch in batches)
    if all(batch.classes == 1 for batch in batches):
        yield "argmax over one column", sum(batch.zeros for batch in batches) / rows
        yield "logits above one half", sum(batch.half for batch in batches) / rows


def wrongly_divided(batches: list[ClassBatch]) -> Iterator[Named]:
    rows = sum(batch.rows for batch in batches)
    labels = sum(batch.labels for batch in batches)
    right = sum(batch.right for batch in batches)
    if labels < rows:
        yield "ignored labels counted", right / rows
    if len(batches) > 1:
        final = batches[-1]
        yield "last batch", final.right / max(1, final.labels)
        yield "last batch over all rows", final.right / labels
        yield "all rows over the last batch", right / max(1, final.labels)
        yield "rows over batches", right / len(batches)
        if final.rows < batches[0].rows:
            yield "full batches counted", right / (batches[0].rows * len(batches))


def scores(table: Table) -> tuple[float, ...]:
    """F1, precision and recall: of the second class of two, the mean over classes, and that by
    their rows; a class without rows counts as 0."""
    every = [_of_class(*counts) for counts in table]
    rows = sum(actual for _, actual, _ in table)
    found = every[1] if len(every) == 2 else ()
    for at in range(3):
        found += (mean(known[at] for known in every),)
        weighted = sum(
            known[at] * actual for known, (_, actual, _) in zip(every, table, strict=True)
        )
        found += (weighted / max(1, rows),)
    return found


def _of_class(predicted: int, actual: int, both: int) -> tuple[float, ...]:
    return (
        2 * both / max(1, predicted + actual),
        both / max(1, predicted),
        both / max(1, actual),
    )


def _together(batches: list[ClassBatch]) -> Table:
    columns = zip(*(batch.table for batch in batches), strict=True)
    return tuple(
        (sum(c[0] for c in column), sum(c[1] for c in column), sum(c[2] for c in column))
        for column in columns
    )


def _have_tables(batches: list[ClassBatch]) -> bool:
    return bool(batches[0].table) and len({len(batch.table) for batch in batches}) == 1


def right_scores(batches: list[ClassBatch]) -> Iterator[Named]:
    if _have_tables(batches):
        yield from (("score", number) for number in scores(_together(batches)))


def wrong_scores(batches: list[ClassBatch]) -> Iterator[Wrong]:
    if len(batches) < 2 or not _have_tables(batches):
        return
    each = [scores(batch.table) for batch in batches]
    for number, right in enumerate(scores(_together(batches))):
        yield "mean of batch scores", mean(known[number] for known in each), right
        yield "last batch", each[-1][number], right


def right_numbers(batches: list[NumberBatch]) -> Iterator[Named]:
    for total in ("squared", "absolute"):
        sums = [getattr(batch, total) for batch in batches]
        elements = sum(batch.elements for batch in batches)
        means = [getattr(b, total) / b.elements for b in batches if b.elements]
        for number in (math.fsum(sums) / max(1, elements), mean(means)):
            yield "mean", number
            yield "root of the mean", math.sqrt(number) if number >= 0 else math.nan
        yield "sum", math.fsum(sums)


def wrong_numbers(batches: list[NumberBatch]) -> Iterator[Wrong]:
    if not all(batch.pairs for batch in batches):
        return
    pairs = sum(batch.pairs for batch in batches)
    elements = sum(batch.elements for batch in batches)
    for total in ("squared", "absolute"):
        every = [getattr(batch, f"{total}_pairs") for batch in batches]
        right = math.fsum(getattr(batch, total) for batch in batches) / max(1, elements)
        means = [number / batch.pairs for number, batch in zip(every, batches, strict=True)]
        for number in (math.fsum(every) / pairs, mean(means)):
            yield "compared with every row", number, right
            yield "compared with every row", math.sqrt(max(0.0, number)), math.sqrt(right)


def unequal_means(batches: list[LossBatch]) -> tuple[float, float] | None:
    """The mean of means, and the mean over all labels, where these differ."""
    if len({batch.labels for batch in batches}) < 2:
        return None
    labels = sum(batch.labels for batch in batches)
    weighted = math.fsum(batch.value * batch.labels for batch in batches) / max(1, labels)
    return mean(batch.value for batch in batches), weighted


def unequal_shares(batches: list[ClassBatch]) -> tuple[float, float] | None:
    """The mean of the accuracies of batches, and the accuracy over all labels."""
    if len({batch.labels for batch in batches}) < 2 or not all(b.labels for b in batches):
        return None
    labels = sum(batch.labels for batch in batches)
    share = sum(batch.right for batch in batches) / labels
    return mean(batch.right / batch.labels for batch in batches), share
