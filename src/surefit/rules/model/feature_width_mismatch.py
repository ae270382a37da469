"""A layer was given another number of features than it was created for.

## What happens
A layer is created for one width: `nn.Linear(271, 256)` multiplies rows of 271 numbers. PyTorch
counts all axes but the last together when it complains, so that an input of shape (256, 999, 4000)
reads `255744x4000`, and which of your axes is meant cannot be seen.

## Why it matters
The quick way out, a new layer as wide as whatever arrives, silently trains on the wrong features;
created after the optimizer, it is not even trained.

## What to do
Find out which of the two widths is meant. If it is the layer's, the data are other data, or their
axes are in another order; if it is the data's, declare it where the layer is created, before the
optimizer is. Each way is tried; the choice is yours.

## How it is recognised
The innermost layer that was being called has a declared width (`in_features`, `in_channels`,
`input_size`, `embed_dim`...), and the tensor that it was given has another size on that axis. Where
each of the two was chosen, a second run tells. Swapped axes, joined rows and rows not joined yet
are shown where the numbers allow them, and ruled out where they do not.

In a script that is only read: the widths of layers are followed from call to call, through
`forward`, `nn.Sequential`, functions, constants and loaders, and one layer is given another width
than it takes.
"""

from collections.abc import Iterator
from math import prod

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import code, shape_of, times
from surefit.laws.arrays_on_disk import width_on_disk
from surefit.laws.axis_changes import lost_axis
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.widths import LayerWidth
from surefit.laws.width_arithmetic import (
    axes_as_wide,
    axes_that_make,
    can_be_reshaped,
    flattened_map,
    goes_both_ways,
    items_in_a_row,
)
from surefit.lineage.properties import size
from surefit.remedies.append import Append
from surefit.remedies.replace import ReplaceWith

SYMPTOM = Symptom(
    r"mat1 and mat2 shapes cannot be multiplied|size mismatch, got \d"
    r"|Given groups=\d+, (weight|expected weight)|input\.size\(-1\) must be equal to"
    r"|Given normalized_shape=|running_mean should contain \d+ elements"
    r"|was expecting embedding dimension of|Expected weight to be (a vector|of same shape)",
    "the shape of what the innermost layer was given, and the width that it was created for",
)
RULE = Rule("SF301", "feature-width-mismatch", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(LayerWidth)
def layer_was_given_another_width(broken: LayerWidth, case: Case) -> Finding | None:
    lineage = case.lineage(broken.given)
    outside = broken.is_data(case)
    if (outside and broken.layout is not None) or (broken.lacks_an_axis and lost_axis(lineage)):
        return None  # `pictures-in-another-layout` and `wrong-number-of-axes` have these
    declared = broken.declared_at(case)
    turned = list(rearranged(broken))
    place = broken.use if outside or turned or declared is None else declared
    unit = "channels" if broken.counts_channels else "features per item"
    return case.finding(
        place.place,
        f"{broken.layer.name} takes {broken.width} {unit} and was given {broken.size}.",
        facts=(
            Fact(broken.layer.name, broken.layer.words + created_at(broken, place)),
            input_fact(broken, case),
            *fact_at("that size is from", lineage.birth(of=size(broken.axis, broken.size))),
            *possible(broken),
        ),
        ruled_out=impossible(broken),
        why=goes_both_ways(lineage, broken.size, broken.width)
        or flattened_map(lineage, broken.size, broken.width),
        remedies=(
            *turned,
            wider(broken, declared),
            *narrower(broken, case),
            *joined_rows(broken),
            other_data(broken, case) if outside and not turned else None,
        ),
    )


def created_at(broken: LayerWidth, place: Written) -> str:
    made = broken.layer.constructor
    return f", created at {made.place}" if made and made.place.line != place.place.line else ""


def input_fact(broken: LayerWidth, case: Case) -> Fact:
    """Its shape, and what PyTorch makes of that in its message."""
    shape, said = broken.shape, case.crash.said if case.crash is not None else ""
    rows = prod(shape[:-1])
    printed = f"{rows}x{shape[-1]}" if shape else ""
    if not printed or printed not in said:
        return broken.given.fact()
    counted = f", for {times(shape[:-1])} = {rows}" if len(shape) > 2 else ""
    return broken.given.fact(f"which PyTorch prints as {printed}{counted}")


def other_axes(broken: LayerWidth) -> list[int]:
    """Axes with the width; where there are more than two, the first one counts rows."""
    axes = axes_as_wide(broken.shape, broken.axis, broken.width) if broken.shape else []
    return [axis for axis in axes if axis > 0 or len(broken.shape) == 2]


def possible(broken: LayerWidth) -> Iterator[Fact]:
    """Ways to this shape that the numbers allow."""
    for axis in other_axes(broken):
        yield Fact("another axis", f"axis {axis} of {broken.given.shape_words} is {broken.width}")
    if broken.counts_channels or not broken.shape:
        return
    joined, apart = (
        items_in_a_row(broken.size, broken.width),
        axes_that_make(broken.shape, broken.width),
    )
    if joined:
        yield Fact("joined rows", f"{broken.size} = {joined} × {broken.width}")
    if apart:
        yield Fact("not joined yet", f"{times(broken.shape[-apart:])} = {broken.width}")


def impossible(broken: LayerWidth) -> Iterator[Fact]:
    """Ways to this shape that the numbers rule out."""
    width, shape = broken.width, broken.shape
    if not shape:
        return
    if not axes_as_wide(shape, broken.axis, width):
        yield Fact("swapped axes", f"no axis of {shape_of(shape)} is {width}")
    if not can_be_reshaped(shape, width):
        whole = f"{times(shape)} = {prod(shape):,}" if len(shape) > 1 else f"{shape[0]}"
        yield Fact("wrong reshape", f"{whole}: no multiple of {width}")
    elif not broken.counts_channels and not items_in_a_row(broken.size, width):
        yield Fact("joined rows", f"{broken.size} is no multiple of {width}")


def rearranged(broken: LayerWidth) -> Iterator[Remedy]:
    """The axis, or the axes, that have exactly the declared width."""
    text, unit = broken.given.name.strip("`"), "channels" if broken.counts_channels else "features"
    for axis in other_axes(broken):
        first, second = sorted((axis, broken.axis))
        suffix = f".transpose({first}, {second})"
        if broken.counts_channels and axis == len(broken.shape) - 1 > 2:
            suffix = f".permute({', '.join(map(str, (0, axis, *range(1, axis))))})"
        words = f"If axis {axis} holds the {unit}: {code(text + suffix)}."
        yield Append(at=broken.given.use, suffix=suffix, words=words, choice=True, alike=False)
    apart = (
        axes_that_make(broken.shape, broken.width)
        if broken.shape and not broken.counts_channels
        else None
    )
    if apart:
        suffix = f".flatten({-apart})"
        words = f"If {times(broken.shape[-apart:])} are one item: {code(text + suffix)}."
        yield Append(at=broken.given.use, suffix=suffix, words=words, choice=True, alike=False)


def wider(broken: LayerWidth, declared: Written | None) -> Remedy:
    where = f" at {declared.place}" if declared is not None else ""
    shown = f", {code(declared.text)} → {broken.size}" if declared is not None else ""
    return ReplaceWith(
        at=declared,
        text=str(broken.size),
        words=f"If {broken.size} is right, declare it{where}{shown}, before the optimizer.",
        choice=True,
    )


def narrower(broken: LayerWidth, case: Case) -> Iterator[Remedy]:
    """The other layer gives the width that this one takes."""
    other = broken.given_by(case)
    if other is None or not other.by_hand:
        return
    for at in reversed(other.chosen):
        words = (
            f"If {broken.width} is right, {code(other.constructor.text)} must give it:"
            f" {broken.width} at {at.place}."
        )
        yield ReplaceWith(at=at, text=str(broken.width), words=words, choice=True)


def joined_rows(broken: LayerWidth) -> Iterator[Remedy]:
    count = items_in_a_row(broken.size, broken.width) if broken.shape else None
    if count and not broken.counts_channels and broken.axis == len(broken.shape) - 1:
        suffix = f".unflatten(-1, ({count}, {broken.width}))"
        text = broken.given.name.strip("`")
        words = f"If each row joins {count} items of {broken.width}: {code(text + suffix)}."
        yield Append(at=broken.given.use, suffix=suffix, words=words, choice=True, alike=False)


def other_data(broken: LayerWidth, case: Case) -> Fix:
    file = width_on_disk(case, broken.shape, broken.size)
    where = f"where {broken.given.name} is read{f' ({file})' if file else ''}"
    return Fix(f"If {broken.width} is right, these are other data: check {where}.", choice=True)
