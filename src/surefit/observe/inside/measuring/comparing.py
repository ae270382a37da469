"""Predictions of one call compared with its targets, in the right way and in known wrong ones."""

from typing import Any

from surefit.observe.inside.measuring.formulas import ClassBatch, NumberBatch, Table
from surefit.observe.inside.training import readable

IGNORED = -100
MOST_CLASSES = 32
"""Of which precision and recall are measured."""


def compared_classes(given: Any, target: Any) -> ClassBatch:
    """Classes are the last axis of what is given; where that has as many elements as the target,
    it is the logit of one class."""
    target = target.reshape(-1)
    rows = int(target.numel())
    if given.numel() == rows:
        return _of_one_column(given.reshape(-1), target)
    classes = int(given.shape[-1])
    table = given.reshape(-1, classes)
    counted = target != IGNORED
    guessed = table.argmax(-1)
    return ClassBatch(
        rows=rows,
        labels=int(counted.sum()),
        right=int((guessed == target).sum()),
        flat=int((given.argmax() == target).sum()),
        broadcast=_pairs(guessed, target),
        zeros=int((target == 0).sum()),
        half=0,
        classes=classes,
        table=_counts(guessed[counted], target[counted], classes),
    )


def _of_one_column(given: Any, target: Any) -> ClassBatch:
    rows = int(target.numel())
    wanted = target.bool()
    probable = bool((given >= 0).all()) and bool((given <= 1).all())
    above = given > (0.5 if probable else 0)
    return ClassBatch(
        rows=rows,
        labels=rows,
        right=int((above == wanted).sum()),
        flat=int((given.argmax() == target).sum()),
        broadcast=_pairs(above.long(), wanted.long()),
        zeros=int((~wanted).sum()),
        half=int(((given > 0.5) == wanted).sum()),
        classes=1,
        table=_counts(above.long(), wanted.long(), 2),
    )


def _counts(guessed: Any, target: Any, classes: int) -> Table:
    """See `ClassBatch.table`; of many classes none."""
    if classes > MOST_CLASSES or bool(((target < 0) | (target >= classes)).any()):
        return ()
    torch = readable.torch()
    sides = (guessed, target, target[guessed == target])
    counts = [torch.bincount(side.long(), minlength=classes).tolist() for side in sides]
    return tuple(zip(*counts, strict=True))


def _pairs(guessed: Any, target: Any) -> int:
    """How many pairs of a prediction and a target are equal."""
    torch = readable.torch()
    values, counts = torch.unique(guessed, return_counts=True)
    others, times = torch.unique(target, return_counts=True)
    known = dict(zip(others.tolist(), times.tolist(), strict=True))
    both = zip(values.tolist(), counts.tolist(), strict=True)
    return sum(count * known.get(value, 0) for value, count in both)


def compared_numbers(given: Any, target: Any) -> NumberBatch:
    flat = given.reshape(-1).double()
    wanted = target.reshape(-1).double()
    difference = flat - wanted
    batch = NumberBatch(
        int(flat.numel()), float((difference**2).sum()), float(difference.abs().sum())
    )
    if given.shape != target.shape and flat.numel() <= 4096:
        every = flat[:, None] - wanted[None, :]
        batch.pairs = int(every.numel())
        batch.squared_pairs = float((every**2).sum())
        batch.absolute_pairs = float(every.abs().sum())
    return batch
