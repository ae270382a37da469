"""Counts over rows of ids: what they begin and end with, and where their padding lies."""

from collections import Counter
from dataclasses import dataclass, field

from surefit.doctor.measures.phase_inputs import TokenFigures

MOST_KINDS = 4
"""Tokens of each sort that are told."""
RUN = 2
"""Equal ids at the end of a row that are padding, where no mask tells it."""


@dataclass(slots=True)
class TokenRows:
    """Over all batches looked at."""

    rows: int = 0
    first: Counter[int] = field(default_factory=Counter)
    last: Counter[int] = field(default_factory=Counter)
    having: Counter[int] = field(default_factory=Counter)
    masked: Counter[int] = field(default_factory=Counter)
    runs: Counter[int] = field(default_factory=Counter)
    padded_left: int = 0
    padded_right: int = 0
    positions: bool = False

    def add(self, rows: list[list[int]], masks: list[list[bool]] | None) -> None:
        for at, row in enumerate(rows):
            real = row
            if masks is not None:
                mask = masks[at]
                real = [token for token, kept in zip(row, mask, strict=True) if kept]
                self.masked.update(
                    {token for token, kept in zip(row, mask, strict=True) if not kept}
                )
                self.padded_left += not mask[0]
                self.padded_right += not mask[-1]
            elif len(row) > RUN and row[-1] == row[-RUN]:
                self.runs[row[-1]] += 1
                real = _without_run(row)
            if real:
                self.rows += 1
                self.first[real[0]] += 1
                self.last[real[-1]] += 1
                self.having.update(set(real))

    def ends(self) -> set[int]:
        """Tokens that most often begin and end rows."""
        most = [*self.first.most_common(MOST_KINDS), *self.last.most_common(MOST_KINDS)]
        return {token for token, _ in most}

    def figures(self, asked: set[int]) -> TokenFigures:
        """`asked`: tokens that begin or end rows in some phase."""
        return TokenFigures(
            first=_told(self.first),
            last=_told(self.last),
            rows_with={str(token): self.having[token] for token in sorted(asked)},
            masked=_told(self.masked),
            runs=_told(self.runs),
            padded_left=self.padded_left,
            padded_right=self.padded_right,
            positions=self.positions,
        )


def _told(counts: Counter[int]) -> dict[str, int]:
    return {str(token): count for token, count in counts.most_common(MOST_KINDS)}


def _without_run(row: list[int]) -> list[int]:
    end = len(row)
    while end and row[end - 1] == row[-1]:
        end -= 1
    return row[:end]
