"""A part of a source file, by lines and columns."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """Part of a source file: lines from 1, columns in characters from 0."""

    line: int
    column: int
    end_line: int
    end_column: int
