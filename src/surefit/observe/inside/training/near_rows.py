"""Rows whose nearest rows in another set are much nearer than the next ones: altered copies."""

from dataclasses import dataclass
from typing import Any

from surefit.observe.inside.training import readable

MOST_LOOKED = 256
MOST_OTHERS = 8192
MOST_COPIES = 16
GAP = 2.0
"""Times that the next row is farther away than the last copy."""
FEWEST = 64
"""Rows of the other set: with fewer, distances jump by chance."""


@dataclass(frozen=True, slots=True)
class Near:
    """How many rows have copies, how many of them, and how near."""

    looked: int = 0
    near: int = 0
    copies: int = 0
    distance: float = 0.0
    next_distance: float = 0.0


NOTHING = Near()


def compared(sketches: list[Any], others: list[Any]) -> Near:
    """Projections of rows, held against those of the rows trained on."""
    torch = readable.torch()
    if not sketches or not others or len({int(part.shape[1]) for part in sketches + others}) > 1:
        return NOTHING
    rows, known = _few(torch.cat(sketches), MOST_LOOKED), _few(torch.cat(others), MOST_OTHERS)
    if known.shape[0] < FEWEST:
        return NOTHING
    with torch.autocast("cpu", enabled=False):
        distances = torch.cdist(rows, known)
    nearest = distances.topk(MOST_COPIES + 1, largest=False).values.clamp_min(1e-12)
    jumps = nearest[:, 1:] / nearest[:, :-1]
    jump, at = jumps.max(1)
    after = nearest.gather(1, (at + 1).unsqueeze(1)).squeeze(1)
    is_near = jump >= GAP
    count = int(is_near.sum())
    if not count:
        return Near(int(rows.shape[0]))
    return Near(
        int(rows.shape[0]),
        count,
        int((at[is_near] + 1).median()),
        float(nearest[is_near, 0].median()),
        float(after[is_near].median()),
    )


def _few(rows: Any, most: int) -> Any:
    """Equally spaced ones; with others left out, copies are fewer, not more."""
    count = int(rows.shape[0])
    return rows if count <= most else rows[:: -(-count // most)]
