"""Which rows are held out: short runs spread evenly over all rows, so that both parts are alike.

Runs rather than single rows, because neighbours in a file are often nearly the same row, and
because what is left to train on stays in long stretches on disk.
"""

from dataclasses import dataclass

import numpy as np

from surefit.doctor.findings import Fact, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

from .permutation import Indices, key_of, permuted

LONGEST_RUN = 64
FEWEST_RUNS = 128
"""Runs become longer than one row only where there are so many of them."""

NO_ROW_LEFT = refusal(
    "SF055",
    "no-rows-to-train-on",
    "Rows that are held out are never trained on, so some must be left.",
)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Rows to train on and rows held out, each counted from 0 in the order of the files."""

    rows: int
    """All of them."""

    held_out: int
    _starts: Indices
    """Of each run that is held out: its first row."""

    _before: Indices
    """How many rows are held out before it; at the end, in all."""

    @property
    def trained(self) -> int:
        return self.rows - self.held_out

    def train_rows(self, numbers: Indices) -> Indices:
        """The rows of the files that training rows of these numbers are."""
        gaps = self._starts - self._before[:-1]
        return numbers + self._before[np.searchsorted(gaps, numbers, side="right")]

    def held_out_rows(self, numbers: Indices) -> Indices:
        """The rows of the files that held-out rows of these numbers are."""
        run = np.searchsorted(self._before, numbers, side="right") - 1
        return self._starts[run] + numbers - self._before[run]


def split_rows(rows: int, share: float, seed: int, folder: str) -> Split:
    """`round(rows * share)` rows are held out, at least one unless the share is 0."""
    held_out = max(1, round(rows * share)) if share > 0 else 0
    if held_out >= rows:
        raise BadInput(
            NO_ROW_LEFT.finding(
                Place(folder),
                f"No row is left to train on: {held_out} of {rows} are held out.",
                facts=(Fact("held_out", f"{share}"),),
                fixes=(Fix("Hold out less: `held_out=0.1`."), Fix("Give more rows.")),
            )
        )
    runs = -(-held_out // min(LONGEST_RUN, max(1, held_out // FEWEST_RUNS)))
    before = _even(held_out, runs)
    lengths, stretches = np.diff(before), _even(rows, runs)
    room = np.diff(stretches) - lengths + 1
    # Numbers below each stretch's room, by the same arithmetic as the order of rows.
    drawn = permuted(np.arange(runs), 2**40, key_of(seed, _HELD_OUT)) % np.maximum(room, 1)
    return Split(rows, held_out, stretches[:-1] + drawn, before)


_HELD_OUT = 1


def _even(count: int, parts: int) -> Indices:
    """Where the parts begin, and the end of the last: their sizes differ by one at most."""
    return np.arange(parts + 1) * count // max(parts, 1)
