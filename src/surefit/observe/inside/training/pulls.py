"""A gradient at an output of a model, held against tensors that can be its targets."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from surefit.observe.inside.training import readable
from surefit.observe.inside.training.padded_places import is_ids, repeated

NEARLY = 0.99
SAME_WAY = 0.99
"""Cosine of two directions."""
ZERO = 1e-4
"""A sum that is zero, over the sum of absolute values."""
IN_DOUBT = 0.8
"""Share of predictions moved towards their own targets from which on no other rows are tried."""
MARGIN = 1e-3
FEWEST_ROWS = 4


@dataclass(slots=True)
class StepPull:
    """What one step shows about one tensor of targets."""

    kind: str
    targets: Any
    """In the axes of the output; of classes, the axis of classes has size 1."""
    counted: Any
    judged: int = 0
    towards: int = 0
    away: int = 0
    over_rows: bool = False
    least: bool = False
    other: str = ""


def pull_of(output: Any, gradient: Any, target: Any) -> StepPull | None:
    """None where the tensor cannot be what the output is compared with."""
    axis = class_axis(tuple(output.shape), target)
    if axis is not None:
        return pull_to_classes(output, gradient, target, axis)
    return pull_to_numbers(output, gradient, target) if is_alike(output, target) else None


def class_axis(shape: tuple[int, ...], target: Any) -> int | None:
    if target.is_floating_point() or target.dtype is readable.torch().bool or len(shape) < 2:
        return None
    for axis in (1, len(shape) - 1):
        others = (*shape[:axis], *shape[axis + 1 :])
        fits = tuple(target.shape) in (others, (*others, 1)) and shape[axis] > 1
        if fits and bool((target < shape[axis]).all()) and bool((target >= 0).any()):
            return axis
    return None


def is_alike(output: Any, target: Any) -> bool:
    """Of the same shape, but for axes of size 1; numbers, or zeros and ones."""
    first, second = ([size for size in side.shape if size != 1] for side in (output, target))
    is_numbers = target.is_floating_point() or bool(((target == 0) | (target == 1)).all())
    return bool(first) and first == second and is_numbers


def pull_to_classes(output: Any, gradient: Any, target: Any, axis: int) -> StepPull:
    labels = target.reshape(*output.shape[:axis], 1, *output.shape[axis + 1 :])
    counted = labels >= 0
    pull = StepPull("classes", labels, counted)
    pulled = (gradient != 0).any(axis, keepdim=True)
    towards, away = directions(gradient, labels.clamp(min=0), axis)
    judged = pulled & counted
    pull.judged = int(judged.sum())
    pull.towards, pull.away = int((towards & judged).sum()), int((away & judged).sum())
    over_classes = sums_to_zero(gradient, axis)
    pull.over_rows = not over_classes and output.shape[0] > 1 and sums_to_zero(gradient, 0)
    if over_classes and pull.judged:
        pull.least = is_least(output, gradient, labels.clamp(min=0), judged, axis)
    if pull.towards < IN_DOUBT * pull.judged and output.shape[0] >= FEWEST_ROWS:
        pull.other = next(other_classes(gradient, labels, judged, axis), "")
    return pull


def directions(gradient: Any, labels: Any, axis: int) -> tuple[Any, Any]:
    """Where the labelled class is wanted more and the others are not, and where it is what is
    wanted least of all."""
    own = gradient.gather(axis, labels)
    total = gradient.sum(axis, keepdim=True)
    tiny = ZERO * gradient.abs().sum(axis, keepdim=True)
    others = gradient.scatter(axis, labels, float("-inf")).amax(axis, keepdim=True)
    is_least = (others <= tiny) | ((total.abs() <= tiny) & (own > others))
    return (own < 0) & (total - own >= -tiny), (own > 0) & is_least


def sums_to_zero(gradient: Any, axis: int) -> bool:
    total, size = gradient.sum(axis).abs(), gradient.abs().sum(axis)
    return bool((size > 0).any()) and bool((total <= ZERO * size).all())


def is_least(output: Any, gradient: Any, labels: Any, judged: Any, axis: int) -> bool:
    """Cross entropy with a target for each class has the gradient `softmax(output) - target`, over
    the number of predictions: what it wants can be read off."""
    probabilities = output.softmax(axis)
    for factor in (int(judged.sum()), 1):
        wanted = probabilities - gradient * factor
        if bool((wanted < -MARGIN).any()) or bool((wanted > 1 + MARGIN).any()):
            continue
        own = wanted.gather(axis, labels)
        rest = wanted.scatter(axis, labels, 2.0).amin(axis, keepdim=True)
        return bool(((own < rest - MARGIN) | ~judged).all())
    return False


def other_classes(gradient: Any, labels: Any, judged: Any, axis: int) -> Iterator[str]:
    if bool((labels == labels.flatten()[0]).all()):
        return
    for words, moved in of_other_rows(labels):
        towards, _ = directions(gradient, moved.clamp(min=0), axis)
        if int((towards & judged).sum()) >= NEARLY * int(judged.sum()):
            yield words


def of_other_rows(targets: Any) -> Iterator[tuple[str, Any]]:
    """The first or last row has none: it is left to what it happens to be."""
    yield "the next row", targets.roll(-1, 0)
    yield "the row before", targets.roll(1, 0)
    yield "the rows in the opposite order", targets.flip(0)


def pull_to_numbers(output: Any, gradient: Any, target: Any) -> StepPull:
    targets = target.reshape(output.shape).to(output.dtype)
    counted = targets.isfinite()
    pull = StepPull("numbers", targets, counted)
    judged = counted & (gradient != 0)
    pull.judged = int(judged.sum())
    if not pull.judged:
        return pull
    known, wanted, pulls = output[judged], targets[judged], gradient[judged]
    if bool(((wanted == 0) | (wanted == 1)).all()):
        as_classes = int((pulls * (0.5 - wanted) > 0).sum())
        as_numbers = int((pulls * (known - wanted) > 0).sum())
        pull.towards = max(as_classes, as_numbers)
        pull.away = pull.judged - as_classes if as_numbers < pull.judged / 2 else 0
        return pull
    gap = known - wanted
    agree = int((gap * pulls > 0).sum())
    way = cosine(gap, pulls)
    even = float(pulls.abs().min()) >= NEARLY * float(pulls.abs().max())
    pull.towards = pull.judged if way >= SAME_WAY else agree
    if way <= -SAME_WAY or (even and agree <= (1 - NEARLY) * pull.judged):
        pull.away = pull.judged
    elif agree < IN_DOUBT * pull.judged and output.shape[0] >= FEWEST_ROWS:
        pull.other = next(other_numbers(output, gradient, targets, judged), "")
    return pull


def other_numbers(output: Any, gradient: Any, targets: Any, judged: Any) -> Iterator[str]:
    for words, moved in of_other_rows(targets):
        if cosine((output - moved)[judged], gradient[judged]) >= 1 - MARGIN:
            yield words


def cosine(first: Any, second: Any) -> float:
    length = float(first.norm() * second.norm())
    return float((first * second).sum()) / length if length else 0.0


def is_own(output: Any, gradient: Any, pull: StepPull, axis: int) -> bool:
    """Whether no neighbour along an axis is a target that fits as well: what is left out at an end
    can have its target elsewhere, as the last position of a sequence has."""
    size = int(output.shape[axis])
    own = fit(output, gradient, pull.targets, pull.counted)
    for before, after in ((0, 1), (1, 0)) if size > 2 else ():
        here = [side.narrow(axis, before, size - 1) for side in (output, gradient)]
        next_to = [side.narrow(axis, after, size - 1) for side in (pull.targets, pull.counted)]
        if fit(here[0], here[1], next_to[0], next_to[1]) >= own:
            return False
    return True


def fit(output: Any, gradient: Any, targets: Any, counted: Any) -> float:
    """How well a gradient points to targets: 1 is best."""
    if targets.shape == output.shape:
        judged = counted & (gradient != 0)
        return cosine((output - targets)[judged], gradient[judged])
    axis = next(at for at, size in enumerate(targets.shape) if size != output.shape[at])
    judged = (gradient != 0).any(axis, keepdim=True) & counted
    towards, _ = directions(gradient, targets.clamp(min=0), axis)
    return int((towards & judged).sum()) / max(1, int(judged.sum()))


def has_gradient(gradient: Any, axis: int) -> Any:
    """For each index of an axis, whether anything of it has a gradient."""
    others = [other for other in range(gradient.dim()) if other != axis]
    return (gradient != 0).sum(others) > 0 if others else gradient != 0


def bounds(pull: StepPull, axis: int) -> tuple[Any, Any]:
    """Least and greatest target for each index of an axis, of those that count."""
    others = [other for other in range(pull.targets.dim()) if other != axis]
    low = pull.targets.double().masked_fill(~pull.counted, float("inf"))
    high = pull.targets.double().masked_fill(~pull.counted, float("-inf"))
    return (low.amin(others), high.amax(others)) if others else (low, high)


def padding_alone(gradient: Any, given: Any) -> bool | None:
    """Whether just the positions that are padding in an input have a gradient; None where the
    input has none."""
    if given.dim() < 2 or gradient.dim() < 2 or given.shape[:2] != gradient.shape[:2]:
        return None
    pulled = (gradient != 0).flatten(2).any(-1) if gradient.dim() > 2 else gradient != 0
    ends = list(ends_of(given))
    if not ends:
        return None
    return any(bool((pulled == end).all()) for end in ends)


def ends_of(given: Any) -> Iterator[Any]:
    """Positions at the ends of rows that hold one token, or zeros, again and again."""
    if given.dim() == 2 and not given.is_floating_point():
        runs = repeated(given) if is_ids(given) else iter(())
    elif given.dim() > 2:
        empty = (given == 0).flatten(2).all(-1).flip(-1)
        run = empty.int().cumprod(-1).bool() & ~empty.all(-1, keepdim=True)
        runs = iter((run.flip(-1),))
    else:
        return
    for run in runs:
        lengths = run.sum(-1)
        if bool(run.any()) and int(lengths.unique().numel()) > 1:
            yield run
