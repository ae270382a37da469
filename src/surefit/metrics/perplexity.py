"""Perplexity over tokens: never clamped, and told with how much of the data it was measured on."""

import math
from dataclasses import dataclass

LARGEST = 1e15
"""Above it a perplexity is written with an exponent."""


@dataclass(frozen=True, slots=True)
class Perplexity:
    """Of supervised places, however they were batched: each counts once."""

    cross_entropy: float
    """The sum over places, in nats."""

    places: int

    def __add__(self, other: "Perplexity") -> "Perplexity":
        return Perplexity(self.cross_entropy + other.cross_entropy, self.places + other.places)

    @property
    def mean(self) -> float:
        """The cross entropy of a place, which is the perplexity's logarithm; NaN of no place."""
        return self.cross_entropy / self.places if self.places else math.nan

    @property
    def value(self) -> float:
        """Infinite where no float is as large; the text still has the number."""
        try:
            return math.exp(self.mean)
        except OverflowError:
            return math.inf

    def __str__(self) -> str:
        """`inf` only if the cross entropy is infinite: exp(800) is 2.7e+347."""
        if not math.isfinite(self.mean):
            return str(self.value)
        if self.mean <= math.log(LARGEST):
            return f"{self.value:.1f}" if self.value >= 100 else f"{self.value:.2f}"
        exponent, rest = divmod(self.mean / math.log(10), 1)
        mantissa = f"{10**rest:.1f}"
        if mantissa == "10.0":
            exponent, mantissa = exponent + 1, "1.0"
        return f"{mantissa}e+{exponent:.0f}"


def gap_closed(before: Perplexity, now: Perplexity, teacher: Perplexity) -> float | None:
    """The share of the way from the untrained student to its teacher, in log-perplexity.

    None where the student was no worse than its teacher from the beginning: there is no such way.
    """
    gap = before.mean - teacher.mean
    return (before.mean - now.mean) / gap if gap > 0 else None


def held_out_line(
    step: int,
    *,
    loss: float,
    cross_entropy: float,
    divergence: float,
    perplexity: Perplexity,
    evaluated: int,
    batches: int,
) -> str:
    """`Step 10: loss 9.2143 (ce 9.4207, kd 9.0079), ppl 8234.5, evaluated 12/12 batches`."""
    return (
        f"Step {step}: loss {_short(loss)} (ce {_short(cross_entropy)}, kd {_short(divergence)}), "
        f"ppl {perplexity}, evaluated {evaluated}/{batches} batches"
    )


def _short(number: float) -> str:
    """A small one is not written as 0."""
    return f"{number:.4f}" if number == 0 or abs(number) >= 0.01 else f"{number:.3g}"
