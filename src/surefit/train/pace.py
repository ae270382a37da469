"""How fast a run trains and what it holds: of each step, and of all of them together."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from surefit.data.peak_memory import peak_memory

MEASURED = ("seconds", "tokens_per_second", "supervised_tokens_per_second", "peak_memory")
"""What differs from run to run, in every line of the metrics that has it."""


@dataclass(slots=True)
class StepClock:
    """Times steps one by one; what comes between them (evaluations, checkpoints) is not counted."""

    began: float = field(default_factory=time.perf_counter)

    def start(self) -> None:
        self.began = time.perf_counter()

    def figures(self, tokens: int, supervised: int) -> dict[str, float]:
        """Of the step since the start; tokens are those of all processes, without padding.

        `peak_memory` is in bytes: on a GPU what torch held there, else what this process held.
        """
        seconds = time.perf_counter() - self.began
        return {
            "seconds": seconds,
            "tokens": tokens,
            "tokens_per_second": tokens / seconds,
            "supervised_tokens_per_second": supervised / seconds,
            "peak_memory": memory_held(),
        }


@dataclass(frozen=True, slots=True)
class Pace:
    """Of all steps of a run, also of those before it was resumed."""

    tokens_per_second: float
    supervised_tokens_per_second: float
    peak_memory: int

    def __str__(self) -> str:
        return (
            f"{self.tokens_per_second:,.0f} tokens/s, {self.supervised_tokens_per_second:,.0f} of "
            f"them supervised; peak memory {self.peak_memory / 1e6:,.0f} MB"
        )


def pace_of(metrics: Iterable[Mapping[str, Any]]) -> Pace | None:
    """None of a run without a step that was timed."""
    steps = [record for record in metrics if "tokens_per_second" in record]
    if not steps:
        return None
    seconds = sum(record["seconds"] for record in steps)
    return Pace(
        sum(record["tokens"] for record in steps) / seconds,
        sum(record["supervised_tokens"] for record in steps) / seconds,
        max(int(record["peak_memory"]) for record in steps),
    )


def memory_held() -> int:
    import torch

    return torch.cuda.max_memory_allocated() if torch.cuda.is_available() else peak_memory()


def without_pace(metrics: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same lines without what differs from run to run."""
    return [
        {name: value for name, value in record.items() if name not in MEASURED}
        for record in metrics
    ]
