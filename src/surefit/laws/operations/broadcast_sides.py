"""Predictions and targets that differ by an axis of size 1, and what they become together."""

from dataclasses import dataclass

from surefit.doctor.words import shape_of


@dataclass(frozen=True, slots=True)
class Sides:
    """What the loss was given, the side with an axis too many first."""

    names: tuple[str, str]
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    axis: int
    of_predictions: bool

    @property
    def squeeze(self) -> str:
        """`-1`, as people write it for the last axis."""
        last = self.axis == len(self.shapes[0]) - 1
        return f".squeeze({-1 if last else self.axis})"

    @property
    def in_words(self) -> str:
        one, other = map(shape_of, self.shapes)
        return f"{self.names[0]} is {one} and {self.names[1]} is {other}"


def sides_of(
    given: tuple[str, tuple[int, ...]], target: tuple[str, tuple[int, ...]]
) -> Sides | None:
    """Where one of two shapes has an axis of size 1 beyond the other; the last such axis."""
    for longer, shorter, of_predictions in ((given, target, True), (target, given, False)):
        shape, other = longer[1], shorter[1]
        for axis in reversed(range(len(shape))):
            if shape[axis] == 1 and (*shape[:axis], *shape[axis + 1 :]) == other:
                return Sides((longer[0], shorter[0]), (shape, other), axis, of_predictions)
    return None


def broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that two become together; None where they cannot."""
    size = max(len(one), len(other))
    first = (1,) * (size - len(one)) + one
    second = (1,) * (size - len(other)) + other
    if any(a != b and 1 not in (a, b) for a, b in zip(first, second, strict=True)):
        return None
    return tuple(max(a, b) for a, b in zip(first, second, strict=True))
