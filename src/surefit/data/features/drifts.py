"""Numbers that drift with a known noise: the source of continuous rows."""

from dataclasses import dataclass

import numpy as np

from .markov import Flags, Floats

KEPT = 0.9
"""The share of a drift that its next step keeps; noise makes up for the rest."""

DRIFTS = 16
"""That a row is made of, however many features it has."""


@dataclass(frozen=True, slots=True)
class Drifts:
    """A few drifts, spread over all features by directions at right angles to each other."""

    directions: Floats
    """`[drifts, features]`. The mean squared error over features is that over drifts."""

    @classmethod
    def of(cls, features: int, seed: int) -> "Drifts":
        count = min(DRIFTS, features)
        numbers = np.random.default_rng([seed, features])
        at_right_angles = np.linalg.qr(numbers.normal(size=(features, count)))[0].T
        return cls(at_right_angles * np.sqrt(features / count))

    def draw(self, rows: int, steps: int, numbers: np.random.Generator) -> Floats:
        drifts = numbers.normal(size=(rows, steps, len(self.directions)))
        for step in range(1, steps):
            drifts[:, step] *= np.sqrt(1 - KEPT**2)
            drifts[:, step] += KEPT * drifts[:, step - 1]
        return drifts @ self.directions

    def next_step_loss(self, values: Floats) -> float:
        """The mean squared error of one who knows the drifts, over all features of all steps but
        the first."""
        return float(((values[:, 1:] - KEPT * values[:, :-1]) ** 2).mean())

    def masked_loss(self, values: Floats, masked: Flags) -> float:
        """The same over masked steps, for one who sees all other steps of a row."""
        errors = [
            ((row[step] - _expected(row, hidden, int(step))) ** 2).mean()
            for row, hidden in zip(values, masked, strict=True)
            for step in np.flatnonzero(hidden)
        ]
        return float(np.mean(errors))


def _expected(row: Floats, hidden: Flags, step: int) -> Floats:
    """Between the nearest shown steps; beyond the last of them what it leaves behind."""
    shown = np.flatnonzero(~hidden)
    before, after = shown[shown < step], shown[shown > step]
    left = KEPT ** (step - before[-1]) if before.size else 0.0
    right = KEPT ** (after[0] - step) if after.size else 0.0
    whole = 1 - (left * right) ** 2
    expected = np.zeros(row.shape[1])
    if before.size:
        expected += left * (1 - right**2) / whole * row[before[-1]]
    if after.size:
        expected += right * (1 - left**2) / whole * row[after[0]]
    return expected
