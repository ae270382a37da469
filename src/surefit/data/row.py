"""One example: as turns, and as numbers."""

from dataclasses import dataclass

from surefit.doctor.findings import Place

from .turns import Turn

IGNORED = -100
"""The label of a place that the loss does not look at; PyTorch's cross entropy skips it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One example: turns, the last of them the assistant's."""

    number: int
    """Which row of the source it is, from 0; copies that augmentation makes keep it."""

    place: Place
    turns: tuple[Turn, ...]
    tools: str = ""
    """The tools that the assistant may call, as JSON; nothing where there are none."""

    @property
    def input(self) -> str:
        """The text of all turns before the last, a line break between them."""
        return "\n".join(turn.text for turn in self.turns[:-1])

    @property
    def target(self) -> str:
        """The text of the last turn, which is the assistant's."""
        return self.turns[-1].text


@dataclass(frozen=True, slots=True)
class Tokens:
    """One row as numbers: the whole, what the loss sees of it, and where its last answer begins."""

    ids: list[int]
    labels: list[int]
    """As long as `ids`; `IGNORED` where the loss does not look."""

    answer_at: int
    number: int
    """The source row, as in `Row`."""

    cut: int = 0
    """Characters of the prompt that the limit cost."""

    @property
    def prompt(self) -> list[int]:
        """What the model is given to generate the last answer from."""
        return self.ids[: self.answer_at]

    @property
    def answer(self) -> list[int]:
        return self.ids[self.answer_at :]

    @property
    def supervised(self) -> int:
        """Places that the loss sees; the first token of a row has no prediction."""
        return sum(label != IGNORED for label in self.labels[1:])

    def features(self) -> dict[str, list[int]]:
        """The row as the collator, surefit's or the Trainer's, wants it."""
        return {"input_ids": self.ids, "labels": self.labels}
