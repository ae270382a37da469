"""Predictions of one call beside its targets, as counts: read in the right way, and in known wrong
ones."""

from dataclasses import replace
from typing import Any

from surefit.doctor.scoring.counts import MOST_SCORES, TOPS, ScoreCounts, Table
from surefit.observe.inside.training import readable

IGNORED = -100
MOST_CLASSES = 64
"""Of which precision and recall are measured."""
MOST_PAIRS = 4096
MOST_RANKED = 500_000
"""Elements of a batch in which the rank of each label is looked for."""

Readings = dict[str, ScoreCounts]
"""By the mistake in reading; the right one under an empty name."""
RIGHT = ""
ONE_ON, ONE_BEFORE = "compared one position on", "compared one position before"
NOT_SHIFTED = "not shifted"
DECIDED = "decisions for scores"


def of_classes(given: Any, target: Any, axis: int = -1) -> Readings:
    """Classes are an axis of what is given; where that has as many elements as the target, it is
    the logit of one class."""
    if given.numel() == target.numel():
        return _of_one_column(given.reshape(-1), target.reshape(-1))
    found = {"argmax over everything": _equal(given.argmax(), target)}
    across = _across(given, axis)
    if across is not None and across.numel() == target.numel():
        found["argmax over another axis"] = _equal(across.reshape(target.shape), target)
    given = given.movedim(axis, -1)
    table = given.reshape(-1, int(given.shape[-1]))
    flat = target.reshape(-1)
    guessed = table.argmax(-1)
    classes = int(given.shape[-1])
    found[RIGHT] = _in_full(table, guessed, target, classes)
    found["compared with every row"] = _pairs(guessed, flat)
    if found[RIGHT].scores:
        counted = flat != IGNORED
        decided = _scores(guessed[counted], flat[counted] == 1)
        found[DECIDED] = replace(found[RIGHT], scores=decided)
    if given.dim() == 3:
        found.update(_shifted(guessed.reshape(given.shape[:2]), target))
    return found


def _across(given: Any, axis: int) -> Any:
    """An argmax over another axis of the same size."""
    sizes = list(given.shape)
    others = [at for at, size in enumerate(sizes) if at != axis % len(sizes)]
    same = [at for at in others if sizes[at] == sizes[axis] > 1]
    return given.argmax(same[0]) if len(same) == 1 else None


def _shifted(guessed: Any, target: Any) -> Readings:
    """Predictions of sequences compared with the target one position further on, or before."""
    return {
        ONE_ON: _equal(guessed[:, :-1], target[:, 1:]),
        ONE_BEFORE: _equal(guessed[:, 1:], target[:, :-1]),
    }


def _in_full(table: Any, guessed: Any, target: Any, classes: int) -> ScoreCounts:
    flat = target.reshape(-1)
    counted = flat != IGNORED
    counts = _guessed(guessed, target, classes)
    valid = counted & (flat >= 0) & (flat < classes)
    if classes > 2 and table.numel() <= MOST_RANKED:
        own = table.gather(1, flat.clamp(0, classes - 1)[:, None].long())
        rank = (table > own).sum(-1)[valid] + 1
        times = readable.torch().bincount(rank.clamp(max=TOPS[-1] + 1)).tolist()
        counts.among = tuple(sum(times[: top + 1]) for top in TOPS if top < classes)
        counts.reciprocal = float((1.0 / rank).sum())
    elif classes == 2 and flat.numel() <= MOST_SCORES and bool(valid.any()):
        favoured = (table[:, 1] - table[:, 0])[valid]
        counts.scores = _scores(favoured, flat[valid] == 1)
    return counts


def _scores(given: Any, wanted: Any) -> list[tuple[float, bool]]:
    return list(zip(given.double().tolist(), wanted.tolist(), strict=True))


def _guessed(guessed: Any, target: Any, classes: int = 0) -> ScoreCounts:
    flat = target.reshape(-1)
    same = guessed.reshape(-1) == flat
    counted = flat != IGNORED
    items = int(target.shape[0]) if target.dim() else 1
    exact = (same | ~counted).reshape(items, -1).all(-1) if flat.numel() else same
    return ScoreCounts(
        rows=int(flat.numel()),
        labels=int(counted.sum()),
        right=int(same.sum()),
        items=items,
        exact=int(exact.sum()),
        table=_table(guessed.reshape(-1)[counted], flat[counted], classes) if classes else (),
    )


def _equal(guessed: Any, target: Any) -> ScoreCounts:
    """How many are right, and nothing else."""
    rows = int(target.numel())
    ignored = 0 if target.dtype is readable.torch().bool else int((target == IGNORED).sum())
    return ScoreCounts(rows=rows, labels=rows - ignored, right=int((target == guessed).sum()))


def _of_one_column(given: Any, target: Any) -> Readings:
    """A logit or a probability for each row."""
    wanted = target.bool()
    probable = bool((given >= 0).all()) and bool((given <= 1).all())
    above = given > (0.5 if probable else 0)
    right = _guessed(above.long(), wanted.long(), 2)
    if given.numel() <= MOST_SCORES:
        right.scores = _scores(given, wanted)
    decided = replace(right, scores=_scores(above, wanted) if right.scores else [])
    found = {
        RIGHT: right,
        "compared with every row": _pairs(above.long(), wanted.long()),
        "argmax over one column": _equal(False, wanted),
        DECIDED: decided,
    }
    if not probable:
        found["logits above one half"] = _guessed((given > 0.5).long(), wanted.long(), 2)
    return found


def _table(guessed: Any, target: Any, classes: int) -> Table:
    """See `ScoreCounts.table`; of many classes none."""
    if classes > MOST_CLASSES or bool(((target < 0) | (target >= classes)).any()):
        return ()
    torch = readable.torch()
    sides = (guessed, target, target[guessed == target])
    counts = [torch.bincount(side.long(), minlength=classes).tolist() for side in sides]
    return tuple(zip(*counts, strict=True))


def _pairs(guessed: Any, target: Any) -> ScoreCounts:
    """Every prediction compared with every target."""
    torch = readable.torch()
    values, counts = torch.unique(guessed, return_counts=True)
    others, times = torch.unique(target, return_counts=True)
    known = dict(zip(others.tolist(), times.tolist(), strict=True))
    both = zip(values.tolist(), counts.tolist(), strict=True)
    rows = int(target.numel())
    equal = sum(count * known.get(value, 0) for value, count in both)
    return ScoreCounts(rows=rows, labels=rows**2, right=equal)


def of_numbers(given: Any, target: Any) -> Readings:
    flat = given.reshape(-1).double()
    wanted = target.reshape(-1).double()
    items = int(target.shape[0]) if target.dim() else 1
    found = {RIGHT: _errors(flat, wanted, items), "arguments swapped": _errors(wanted, flat, items)}
    if given.shape != target.shape and flat.numel() <= MOST_PAIRS:
        every = flat[:, None].expand(-1, len(wanted)), wanted[None, :].expand(len(flat), -1)
        found["compared with every row"] = _errors(*every, items)
    return found


def _errors(given: Any, wanted: Any, items: int) -> ScoreCounts:
    difference = given - wanted
    elements = int(difference.numel())
    least = 2.220446049250313e-16  # as scikit-learn has it
    relative = float((difference.abs() / wanted.abs().clamp_min(least)).sum())
    return ScoreCounts(
        rows=elements,
        labels=elements,
        items=items,
        squared=float((difference**2).sum()),
        absolute=float(difference.abs().sum()),
        relative=relative,
        wanted=float(wanted.sum()),
        wanted_squared=float((wanted**2).sum()),
    )
