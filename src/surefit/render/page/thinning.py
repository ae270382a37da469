"""Curves of any length with few points and every spike."""

from collections.abc import Iterator, Sequence
from math import fsum, isfinite

MOST_POINTS = 3000
"""Of a curve on a page: more than a screen has columns."""
PARTS = 20
"""Of a window, by which it moves on."""
DIGITS = 6
"""Significant ones, of a value on a page."""

Points = list[tuple[float, float | None]]


def thinned(points: Sequence[tuple[float, float | None]], most: int = MOST_POINTS) -> Points:
    """At most about so many points: of each stretch its lowest and its highest, in their order, and
    the first and the last of all. None stays where a stretch has nothing but None."""
    if len(points) <= most:
        return list(points)
    inner = points[1:-1]
    stretches = max(1, (most - 2) // 2)
    return [points[0], *_extremes(inner, stretches), points[-1]]


def points_per_stretch(count: int, most: int = MOST_POINTS) -> int:
    """Of how many points the lowest and the highest are drawn; 1 where all are."""
    return 1 if count <= most else -(-(count - 2) // max(1, (most - 2) // 2))


def _extremes(
    points: Sequence[tuple[float, float | None]], stretches: int
) -> Iterator[tuple[float, float | None]]:
    size = len(points) / stretches
    for number in range(stretches):
        stretch = points[round(number * size) : round((number + 1) * size)]
        finite = [point for point in stretch if point[1] is not None]
        if not finite:
            yield from stretch[:1]
            continue
        low = min(finite, key=_value)
        high = max(finite, key=_value)
        if low is high:
            yield low
        else:
            yield from sorted((low, high))


def _value(point: tuple[float, float | None]) -> float:
    return point[1] or 0.0


def running_means(points: Sequence[tuple[float, float | None]], window: int) -> Points:
    """The mean of a value and those before it, `window` together, about `PARTS` times in a window.
    Each is summed by itself, so that no spike outlives its window."""
    size = max(1, window // PARTS)
    ends = range((len(points) - 1) % size + 1, len(points) + 1, size)
    parts = [_sum_and_count(points[max(0, end - size) : end]) for end in ends]
    means: Points = []
    for number, end in enumerate(ends, start=1):
        together = parts[max(0, number - window // size) : number]
        count = sum(count for _, count in together)
        total = fsum(part for part, _ in together)
        means.append((points[end - 1][0], total / count if count else None))
    return means


def _sum_and_count(points: Sequence[tuple[float, float | None]]) -> tuple[float, int]:
    finite = [value for _, value in points if value is not None]
    return fsum(finite), len(finite)


def finite_or_none(value: object) -> float | None:
    """A number that can be drawn."""
    if type(value) is float:
        return value if isfinite(value) else None
    return float(value) if type(value) is int else None


def short(value: float | None) -> float | None:
    """With as many digits as a reader can use, so that a page stays small."""
    return None if value is None else float(f"{value:.{DIGITS}g}")
