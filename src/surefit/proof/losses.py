"""Whether two runs are the same run up to a fault: their losses before it are equal, to the bit."""

from collections import defaultdict
from dataclasses import dataclass
from math import isfinite

from surefit.doctor.progress import final_steps
from surefit.doctor.recording import Recording

Losses = dict[tuple[int | None, int], list[str]]


@dataclass(frozen=True, slots=True)
class Compared:
    """How many losses before a fault both runs have, and the first that differ."""

    equal: int
    first_had: int
    differing: tuple[int, str, str] | None = None
    """Step, and the loss of the first and of the second run."""


def compared(first: Recording, second: Recording, before: int | None) -> Compared:
    """Losses of the first run at fewer than `before` steps; None: all of them."""
    ours, theirs = losses(first), losses(second)
    wanted = {key: found for key, found in ours.items() if before is None or key[1] < before}
    equal = 0
    for key in sorted(wanted.keys() & theirs.keys(), key=lambda key: key[1]):
        missing = [loss for loss in wanted[key] if loss not in theirs[key]]
        if missing and not isfinite(float(missing[0])):
            # What a fix for values that are not finite mends; from here on the runs differ.
            return Compared(equal, equal)
        if missing:
            count = sum(map(len, wanted.values()))
            return Compared(equal, count, (key[1], missing[0], theirs[key][0]))
        equal += len(wanted[key])
    return Compared(equal, sum(map(len, wanted.values())))


def losses(seen: Recording) -> Losses:
    """By rank and steps taken before it; several where several batches make a step. As text, which
    is exact for numbers and knows that nan is nan."""
    found: Losses = defaultdict(list)
    for steps in final_steps(seen):
        for step, loss in steps.losses:
            found[steps.process.rank, step].append(repr(float(loss)))
    return dict(found)
