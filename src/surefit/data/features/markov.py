"""A chain of states with a known entropy: what `surefit make-data` draws one-hot rows from."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CHANCES = (0.70, 0.20, 0.07, 0.03)
"""Of the states that can follow a state; four of them, so that a few thousand rows show all."""

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Chain:
    """Rows of states: the first is any, with equal chances, and each decides what can follow."""

    following: Ids
    """`[states, 4]`: each column holds every state once, so that all stay equally frequent."""

    @classmethod
    def of(cls, states: int, seed: int) -> "Chain":
        numbers = np.random.default_rng([seed, states])
        return cls(np.stack([numbers.permutation(states) for _ in CHANCES], axis=1))

    def draw(self, rows: int, steps: int, numbers: np.random.Generator) -> Ids:
        states = np.empty((rows, steps), np.int64)
        states[:, 0] = numbers.integers(len(self.following), size=rows)
        ways = numbers.choice(len(CHANCES), size=(rows, steps), p=CHANCES)
        for step in range(1, steps):
            states[:, step] = self.following[states[:, step - 1], ways[:, step]]
        return states

    def next_step_loss(self, states: Ids) -> float:
        """The mean cross entropy, in nats, of one who knows the chain, over all steps but the
        first."""
        chances = self.matrix()[states[:, :-1], states[:, 1:]]
        return float(-np.log(chances).mean())

    def masked_loss(self, states: Ids, masked: Flags) -> float:
        """The same over masked steps, for one who sees all other steps of a row."""
        before, after = self._from_before(states, masked), self._from_after(states, masked)
        both = before * after
        chances = np.take_along_axis(both, states[:, :, None], axis=2)[:, :, 0] / both.sum(axis=2)
        return float(-np.log(chances[masked]).mean())

    def matrix(self) -> Floats:
        """The chance of each state after each state; two ways to one state add up."""
        count = len(self.following)
        chances = np.zeros((count, count))
        for way, chance in enumerate(CHANCES):
            chances[np.arange(count), self.following[:, way]] += chance
        return chances

    def _from_before(self, states: Ids, masked: Flags) -> Floats:
        """`[rows, steps, states]`: how likely each state is, by all that is seen before it."""
        chances = self.matrix()
        likely = np.empty((*states.shape, len(chances)))
        likely[:, 0] = 1 / len(chances)
        for step in range(1, states.shape[1]):
            likely[:, step] = _seen(likely, states, masked, step - 1) @ chances
        return likely

    def _from_after(self, states: Ids, masked: Flags) -> Floats:
        """The same by all that is seen after it, up to a factor of the step."""
        back = self.matrix().T
        likely = np.ones((*states.shape, len(back)))
        for step in reversed(range(states.shape[1] - 1)):
            likely[:, step] = _seen(likely, states, masked, step + 1) @ back
        return likely


def _seen(likely: Floats, states: Ids, masked: Flags, step: int) -> Floats:
    """What is known of a step: its state where it is shown, else how likely each is."""
    known = np.zeros_like(likely[:, step])
    np.put_along_axis(known, states[:, step, None], 1.0, axis=1)
    return np.where(masked[:, step, None], likely[:, step], known)
