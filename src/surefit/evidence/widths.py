"""The arithmetic of a width that does not fit: what could have been done to the axes, and what not.

Each function answers for one way in which rows `width` features wide can come to another shape. It
answers no only where that way is impossible.
"""

from collections.abc import Sequence
from math import prod


def axes_as_wide(shape: Sequence[int], axis: int, width: int) -> list[int]:
    """Other axes that have the width: the axes were swapped, perhaps."""
    here = axis % len(shape)
    return [at for at, size in enumerate(shape) if size == width and at != here]


def items_in_a_row(given: int, width: int) -> int | None:
    """How many whole rows of the width make up what was given, if they do: rows were joined."""
    return given // width if width and given % width == 0 and given != width else None


def axes_that_make(shape: Sequence[int], width: int) -> int | None:
    """How many of the last axes together have the width: they were not joined yet."""
    for count in range(2, len(shape) + 1):
        if prod(shape[-count:]) == width:
            return count
    return None


def can_be_reshaped(shape: Sequence[int], width: int) -> bool:
    """Whether all elements together are whole rows of the width."""
    return width > 0 and prod(shape) % width == 0


def positions_for(width: int, channels: int) -> int | None:
    """At how many positions a flattened map of so many channels has the width."""
    return width // channels if channels and width % channels == 0 else None
