"""Ids without a row in their table, and what tokenizers know of them."""

from dataclasses import dataclass, field
from typing import ClassVar

from surefit.doctor.words import counted, listed


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a tokenizer of the run says of the ids."""

    kind: str
    size: int
    tokens: dict[str, str] = field(default_factory=dict)
    """Id -> token, of the ids outside that it has."""
    added: list[int] = field(default_factory=list)
    """Of these, the ones that were added to the tokenizer after it was created."""
    pad: int | None = None


@dataclass(frozen=True, slots=True)
class OutsideIds:
    """The ids without a row."""

    probe: ClassVar[str] = "ids-outside"

    outside: int
    elements: int
    distinct: int
    first: list[int]
    least: int
    greatest: int
    longest: int
    """Size of the last axis."""
    most_in_a_row: int = 0
    fewest_in_a_row: int = 0
    least_inside: int | None = None
    at_the_end: bool = False
    """In every row nothing but more of them follows; `at_the_start`: nothing precedes."""
    at_the_start: bool = False
    counts_up_from: int | None = None
    tokenizers: list[Vocabulary] = field(default_factory=list)

    @property
    def marker(self) -> int | None:
        """The one id outside, where they are all the same."""
        return self.first[0] if self.distinct == 1 else None

    @property
    def pads(self) -> bool:
        """Only at one end of rows."""
        return self.at_the_end or self.at_the_start

    @property
    def fills_rows(self) -> bool:
        """At one end of rows, in some more often than in others: not one mark for each row."""
        return self.pads and self.most_in_a_row > max(1, self.fewest_in_a_row)

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The tokenizer that has tokens for all of them."""
        if self.least < 0:
            return None
        expected = min(len(self.first), self.distinct)
        fitting = [
            known
            for known in self.tokenizers
            if len(known.tokens) == expected and known.size > self.greatest
        ]
        return min(fitting, key=lambda known: known.size, default=None)

    @property
    def words(self) -> str:
        """`3 ids of 24: all -1`."""
        more = self.distinct - len(self.first)
        numbers = listed(self.first) + (f" and {more:,} more" if more > 0 else "")
        shown = f"all {self.first[0]}" if self.distinct == 1 else numbers
        return f"{counted(self.outside, 'id')} of {self.elements:,}: {shown}"
