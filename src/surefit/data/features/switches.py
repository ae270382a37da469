"""Features that switch on and off with known chances: the source of multi-hot rows."""

from dataclasses import dataclass

import numpy as np

from .markov import Flags, Floats, Ids

ON = 0.02
"""The chance that a feature that is off is on in the next step."""

OFF = 0.18
"""The chance of the reverse. A tenth of all features are on at any time."""

STAYS = np.array([[1 - ON, ON], [OFF, 1 - OFF]])
AT_FIRST = np.array([OFF, ON]) / (ON + OFF)


@dataclass(frozen=True, slots=True)
class Switches:
    """Each feature is a chain of its own, of two states."""

    features: int

    def draw(self, rows: int, steps: int, numbers: np.random.Generator) -> Flags:
        on = np.empty((rows, steps, self.features), np.bool_)
        chances = numbers.random((rows, steps, self.features), dtype=np.float32)
        on[:, 0] = chances[:, 0] < AT_FIRST[1]
        for step in range(1, steps):
            on[:, step] = chances[:, step] < np.where(on[:, step - 1], 1 - OFF, ON)
        return on

    def next_step_loss(self, on: Flags) -> float:
        """The mean binary cross entropy, in nats, of one who knows the chances, over all features
        of all steps but the first."""
        at = on.astype(np.int64)
        return float(-np.log(STAYS[at[:, :-1], at[:, 1:]]).mean())

    def masked_loss(self, on: Flags, masked: Flags) -> float:
        """The same over masked steps, for one who sees all other steps of a row."""
        at = on.astype(np.int64)
        before, after = _from_before(at, masked), _from_after(at, masked)
        both = before * after
        chances = np.take_along_axis(both, at[..., None], axis=-1)[..., 0] / both.sum(axis=-1)
        return float(-np.log(chances[masked]).mean())


def _from_before(at: Ids, masked: Flags) -> Floats:
    likely = np.empty((*at.shape, 2))
    likely[:, 0] = AT_FIRST
    for step in range(1, at.shape[1]):
        likely[:, step] = _seen(likely, at, masked, step - 1) @ STAYS
    return likely


def _from_after(at: Ids, masked: Flags) -> Floats:
    likely = np.ones((*at.shape, 2))
    for step in reversed(range(at.shape[1] - 1)):
        likely[:, step] = _seen(likely, at, masked, step + 1) @ STAYS.T
    return likely


def _seen(likely: Floats, at: Ids, masked: Flags, step: int) -> Floats:
    known = np.eye(2)[at[:, step]]
    return np.where(masked[:, step, None, None], likely[:, step], known)
