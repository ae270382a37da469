"""A row in characters, readable without colour."""

from itertools import pairwise

import numpy as np

from .decode import Values
from .inspection import Picture

WIDTH = 64
SHADES = "·-=+*#"
"""From nothing to the largest size of a value."""

MOST_STEPS = 24


def picture(title: str, row: Values) -> Picture:
    """`row` is `[steps, features]`; each character shows the largest value of its features."""
    steps, features = row.shape
    sizes = np.nan_to_num(np.abs(row[:MOST_STEPS].astype(np.float64)), posinf=0.0)
    width = min(WIDTH, features)
    edges = np.linspace(0, features, width + 1).astype(int)
    cells = np.stack([sizes[:, a:b].max(axis=1) for a, b in pairwise(edges.tolist())], 1)
    most = float(cells.max()) or 1.0
    shades = np.ceil(cells / most * (len(SHADES) - 1)).astype(int)
    number = len(str(max(0, steps - 1)))
    lines = [
        f"{step:>{number}} {''.join(SHADES[shade] for shade in line)}"
        for step, line in enumerate(shades)
    ]
    if steps > MOST_STEPS:
        lines.append(f"{'…':>{number}} {steps - MOST_STEPS:,} more steps")
    each = f"{features / width:.3g} features" if features > width else "one feature"
    legend = f"{steps} steps down, {each} a column; {SHADES[0]} is 0, {SHADES[-1]} is {most:.4g}"
    return Picture(title, tuple(lines), legend)
