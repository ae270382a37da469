"""Which steps of a row are hidden from a model that must fill them in: a pure function."""

import numpy as np
from numpy.typing import NDArray

from .markov import Flags, Ids

Words = NDArray[np.uint64]


def masked_steps(rows: Ids, steps: int, share: float, seed: int, epoch: int) -> Flags:
    """`[rows, steps]`, of these rows by their numbers: in whatever order, batch or process they
    come, their masks are the same.

    At least one step of each row is masked, and at least one is not.
    """
    chances = _chances(rows, steps, seed, epoch)
    order = chances.argsort(axis=1).argsort(axis=1)
    masked: Flags = chances < share
    masked[order == 0] = True
    masked[order == steps - 1] = False
    return masked


def _chances(rows: Ids, steps: int, seed: int, epoch: int) -> NDArray[np.float64]:
    """Evenly spread between 0 and 1."""
    of_run = _mixed(_mixed(np.array([seed], np.uint64)) ^ np.uint64(epoch))
    of_rows = _mixed(of_run ^ rows.astype(np.uint64))
    of_steps = _mixed(of_rows[:, None] ^ _mixed(np.arange(steps, dtype=np.uint64)))
    chances: NDArray[np.float64] = (of_steps >> np.uint64(11)) * np.float64(2.0**-53)
    return chances


def _mixed(words: Words) -> Words:
    """SplitMix64: each bit of a word changes half of the bits of what it becomes."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
