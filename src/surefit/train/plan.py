"""How many optimizer steps a run takes, and how they fall into epochs."""

import math
from dataclasses import dataclass

from surefit.doctor.findings import COMMAND_LINE, Fact, Fix
from surefit.doctor.rule import refusal
from surefit.errors import WrongCall

UNEVEN_STEP = refusal(
    "SF170", "uneven-step", "The rows of a step cannot be divided into the batches asked for."
)


@dataclass(frozen=True, slots=True)
class StepRows:
    """The rows of an optimizer step, over all processes, and in how many batches they come.

    Both stay what they are when a run goes on in another number of processes.
    """

    rows: int
    batches: int

    @classmethod
    def of(
        cls, batch_size: int, accumulate: int, asked: int | None = None, processes: int = 1
    ) -> "StepRows":
        """From the settings: `asked` rows to a step, or all that the processes take at once."""
        if asked is None:
            return cls(batch_size * accumulate * processes, accumulate)
        if accumulate == 1:
            return cls(asked, _divisor(asked, math.ceil(asked / (batch_size * processes))))
        if asked % accumulate:
            raise WrongCall(
                UNEVEN_STEP.finding(
                    COMMAND_LINE,
                    f"{asked} rows per step cannot be divided into {accumulate} batches.",
                    facts=[
                        Fact("`rows_per_step`", str(asked)),
                        Fact("`accumulate`", str(accumulate)),
                    ],
                    fixes=[
                        Fix("Remove `--accumulate`; it follows from the other two."),
                        Fix(f"Or use  --rows-per-step {accumulate * -(-asked // accumulate)}"),
                    ],
                )
            )
        return cls(asked, accumulate)

    @property
    def in_a_batch(self) -> int:
        """Rows that go forward together over all processes."""
        return self.rows // self.batches


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps of an epoch, of the run, and batches that share a step."""

    epoch_steps: int
    steps: int
    accumulate: int

    @classmethod
    def of(cls, *, rows: int, step: StepRows, epochs: int, max_steps: int | None) -> "Plan":
        epoch_steps = math.ceil(math.ceil(rows / step.in_a_batch) / step.batches)
        steps = epochs * epoch_steps
        return cls(epoch_steps, min(steps, max_steps or steps), step.batches)

    @property
    def epochs(self) -> int:
        """Epochs begun; `max_steps` can end the last one early."""
        return math.ceil(self.steps / self.epoch_steps)

    def groups(self, order: list[list[int]], before: int) -> list[list[list[int]]]:
        """The batches of an epoch that begins after so many steps, as many together as share an
        optimizer step."""
        starts = range(0, len(order), self.accumulate)
        together = [order[start : start + self.accumulate] for start in starts]
        return together[: self.steps - before]


def _divisor(rows: int, least: int) -> int:
    """The least number, from `least` on, that divides `rows`."""
    return next(number for number in range(max(1, least), rows + 1) if rows % number == 0)
