"""The arithmetic of a width that does not fit: what could have been done to the axes, and what not.

Each function answers for one way in which rows `width` features wide can come to another shape. It
answers no only where that way is impossible.
"""

from collections.abc import Sequence
from math import isqrt, prod

from surefit.doctor.words import times
from surefit.lineage.lineage import Lineage
from surefit.lineage.ways import operation, shape, steps_back, way_back

RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu", "_VF.lstm")
MAP = 4
"""Axes of a map: rows, channels, height, width."""


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


def flattened_map(lineage: Lineage, given: int, width: int) -> str:
    """Of features that are a flattened map: which map it is, and which one was expected."""
    steps = steps_back(lineage)[:1]
    before = steps[0].before if steps else ()
    if len(before) != MAP or prod(before[1:]) != given:
        return ""
    channels, *sides = before[1:]
    here = f"{given} = {times((channels, *sides))}, a flattened map"
    if width % channels:
        return f"{here}; {width} is no multiple of its {channels} channels."
    positions = width // channels
    side = isqrt(positions)
    expected = (side, side) if side * side == positions else (positions,)
    return f"{here}; {width} would be {times((channels, *expected))}."


def goes_both_ways(lineage: Lineage, given: int, width: int) -> str:
    """Of the output of a recurrent layer in two directions, whose results are concatenated."""
    if given != 2 * width:
        return ""
    for producer in way_back(lineage):
        if shape(producer)[-1:] != (given,):
            return ""
        if operation(producer) in RECURRENT:
            return f"The recurrent layer before it reads both ways and gives {width} for each."
    return ""
