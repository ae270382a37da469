"""Series of numbers that a training log holds, and what each of them is by its name."""

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from math import isfinite


class Role(Enum):
    """What a series is about."""

    LOSS = "loss"
    RATE = "learning rate"
    GRADIENT_NORM = "gradient norm"
    PERPLEXITY = "perplexity"
    SCORE = "score"
    OTHER = ""


WORDS = {
    Role.GRADIENT_NORM: {"grad", "gradient", "gradnorm"},
    Role.RATE: {"lr", "rate"},
    Role.PERPLEXITY: {"ppl", "perplexity"},
    Role.LOSS: {"loss", "nll", "mse", "mae", "rmse", "error"},
    Role.SCORE: {"acc", "accuracy", "f1", "auc", "precision", "recall", "dice", "iou", "bleu"},
}
EVALUATION = {"eval", "evaluation", "val", "valid", "validation", "test", "dev"}
WORD = re.compile(r"[a-z]+\d?")


@dataclass(frozen=True, slots=True)
class Point:
    """One number of a log."""

    value: float
    step: int | None = None
    epoch: float | None = None
    line: int | None = None

    @property
    def when(self) -> str:
        """`step 120`, or the best that the log has."""
        if self.step is not None:
            return f"step {self.step:,}"
        if self.epoch is not None:
            return f"epoch {self.epoch:g}"
        return f"line {self.line:,}" if self.line is not None else "an entry"


@dataclass(frozen=True, slots=True)
class Series:
    """All numbers of one name, in the order of the log."""

    name: str
    points: tuple[Point, ...]

    @property
    def role(self) -> Role:
        words = words_of(self.name)
        return next((role for role, names in WORDS.items() if names & words), Role.OTHER)

    @property
    def is_evaluation(self) -> bool:
        return bool(words_of(self.name) & EVALUATION)

    @property
    def values(self) -> list[float]:
        return [point.value for point in self.points]

    @property
    def finite(self) -> list[float]:
        return [value for value in self.values if isfinite(value)]

    def __str__(self) -> str:
        first, last = self.values[0], self.values[-1]
        return f"{self.name} {first:.4g} -> {last:.4g} ({len(self.points):,} entries)"


@dataclass(frozen=True, slots=True)
class TrainingLog:
    """A log, read."""

    file: str
    kind: str
    """`Trainer state`, `TensorBoard events`, `CSV`, `text`."""
    series: tuple[Series, ...]
    planned: int | None = None
    """Steps that the run was to take, where the log says it."""

    def of(self, role: Role, *, evaluation: bool | None = None) -> list[Series]:
        return [
            series
            for series in self.series
            if series.role is role and evaluation in (None, series.is_evaluation)
        ]

    @property
    def steps(self) -> int | None:
        """The last step that it tells of."""
        steps = [point.step for series in self.series for point in series.points]
        return max((step for step in steps if step is not None), default=None)


@lru_cache(maxsize=10_000)
def words_of(name: str) -> frozenset[str]:
    """`val/F1_macro` -> {val, f1, macro}."""
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return frozenset(WORD.findall(spaced.lower()))
