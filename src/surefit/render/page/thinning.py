"""Curves of any length with few points and every spike."""

from collections.abc import Iterator, Sequence
from math import fsum, isfinite

MOST_POINTS = 3000
"""Of a curve on a page: more than a screen has columns."""
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
    """At about as many steps as a page has room for: the mean of the value there and of those
    before it, `window` together. Each is summed by itself, so that no spike outlives its window."""
    stride = max(1, len(points) // MOST_POINTS)
    ends = range((len(points) - 1) % stride, len(points), stride)
    return [(points[end][0], _mean(points[max(0, end + 1 - window) : end + 1])) for end in ends]


def _mean(points: Sequence[tuple[float, float | None]]) -> float | None:
    finite = [value for _, value in points if value is not None]
    return fsum(finite) / len(finite) if finite else None


def finite_or_none(value: object) -> float | None:
    """A number that can be drawn."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and isfinite(value) else None  # type: ignore[arg-type]


def short(value: float | None) -> float | None:
    """With as many digits as a reader can use, so that a page stays small."""
    return None if value is None else float(f"{value:.{DIGITS}g}")
