"""A layer was given another number of features than it was created for.

## What happens
A layer is created for one width: `nn.Linear(271, 256)` multiplies rows of 271 numbers. PyTorch
counts all axes but the last together when it complains: an input of shape (256, 999, 4000) reads
`255744x4000`, and which of your axes is meant cannot be seen.

## Why it matters
The quick way out, a new layer as wide as whatever arrives, silently trains on the wrong features;
created after the optimizer, it is not even trained.

## What to do
Find out which of the two widths is meant. If it is the layer's, the data are other data, or their
axes are in another order; if it is the data's, declare it where the layer is created, before the
optimizer is. Each way is tried; the choice is yours.

## How it is recognised
The innermost layer that was being called has a declared width (`in_features`, `in_channels`,
`input_size`...), and the tensor that it was given has another size on that axis. A second run tells
where each was chosen. Swapped axes and joined rows are shown where the numbers allow them. In a
script that is only read, widths are followed from call to call.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import code, shape_of, some, times
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.widths import LayerWidth
from surefit.laws.layers.axis_changes import AxisChange, lost_axis, receiver, reduced_instead
from surefit.laws.layers.width_arithmetic import axes_as_wide, flattened_map, goes_both_ways
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind
from surefit.lineage.properties import size
from surefit.lineage.ways import regroups_rows
from surefit.remedies.append import Append
from surefit.remedies.arguments import SetArgument
from surefit.remedies.replace import ReplaceWith

SYMPTOM = Symptom(
    r"mat1 and mat2 shapes cannot be multiplied|size mismatch, got \d"
    r"|Given groups=\d+, (weight|expected weight)|input\.size\(-1\) must be equal to"
    r"|Given normalized_shape=|running_mean should contain \d+ elements"
    r"|was expecting embedding dimension of|Expected weight to be (a vector|of same shape)",
    "the shape of what the innermost layer was given, and the width that it was created for",
)
UNNAMED = "Unnamed: 0"
RULE = Rule("SF301", "feature-width-mismatch", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """One file, and the shape in its header."""

    file: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ArraysOnDisk:
    """What the crashed process finds beside the script."""

    probe: ClassVar[str] = "arrays-on-disk"

    files: tuple[ArrayFile, ...] = field(default_factory=tuple)


@RULE.on(LayerWidth)
def layer_was_given_another_width(broken: LayerWidth, case: Case) -> Finding | None:
    lineage = case.lineage(broken.given)
    outside = broken.is_data(case)
    if (outside and broken.layout is not None) or (broken.lacks_an_axis and lost_axis(lineage)):
        return None  # `pictures-in-another-layout` and `wrong-number-of-axes` have these
    if regroups_rows(lineage, broken.size, broken.width):
        return None  # `hard-coded-batch-size` has that
    declared, created = broken.declared_at(case), broken.layer.constructor
    reduced = reduced_instead(lineage, broken.width, broken.size)
    table = table_as_wide(lineage, broken.size)
    index = read_with_its_index(lineage, table)
    turned = [
        *other_reduction(broken, reduced, case),
        *without_the_index(index),
        *rearranged(broken),
    ]
    place = (broken.use if outside or turned or declared is None else declared).place
    created_at = f", created at {created.place}" if created else ""
    unit = "channels" if broken.counts_channels else "features per item"
    return case.finding(
        reduced.producer.place if reduced else index.place if index else place,
        f"{broken.layer.name} takes {broken.width} {unit} and was given {broken.size}.",
        facts=(
            Fact(broken.layer.name, broken.layer.words + created_at),
            input_fact(broken, case),
            *lost_there(broken, reduced),
            *fact_at("that size is from", lineage.birth(of=size(broken.axis, broken.size))),
            *columns_of(table),
            *possible(broken),
        ),
        ruled_out=impossible(broken),
        why=goes_both_ways(lineage, broken.size, broken.width)
        or flattened_map(lineage, broken.size, broken.width),
        remedies=(
            *turned,
            ReplaceWith(
                at=declared,
                text=str(broken.size),
                words=f"If {broken.size} is right, declare it{at(declared)}, before the optimizer.",
                choice=True,
            ),
            *narrower(broken, case),
            *joined_rows(broken),
            other_data(broken, case) if outside and not turned else None,
        ),
    )


def at(written: Written | None) -> str:
    return f" at {written.place}" if written is not None else ""


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
    if broken.joined:
        yield Fact("joined rows", f"{broken.size} = {broken.joined} × {broken.width}")
    if broken.apart:
        yield Fact("not joined yet", f"{times(broken.shape[-broken.apart :])} = {broken.width}")


def impossible(broken: LayerWidth) -> Iterator[Fact]:
    """Ways to this shape that the numbers rule out."""
    width, shape = broken.width, broken.shape
    if shape and not axes_as_wide(shape, broken.axis, width):
        yield Fact("swapped axes", f"no axis of {shape_of(shape)} is {width}")
    if shape and prod(shape) % width:
        whole = f"{times(shape)} = {prod(shape):,}" if len(shape) > 1 else f"{shape[0]}"
        yield Fact("wrong reshape", f"{whole}: no multiple of {width}")
    elif shape and not broken.counts_channels and not broken.joined:
        yield Fact("joined rows", f"{broken.size} is no multiple of {width}")


def rearranged(broken: LayerWidth) -> Iterator[Remedy]:
    """The axes that have exactly the declared width, or make it together."""
    for axis in other_axes(broken):
        first, second = sorted((axis, broken.axis))
        suffix = f".transpose({first}, {second})"
        if broken.counts_channels and axis == len(broken.shape) - 1 > 2:
            suffix = f".permute({', '.join(map(str, (0, axis, *range(1, axis))))})"
        unit = "channels" if broken.counts_channels else "features"
        yield appended(broken, f"If axis {axis} holds the {unit}", suffix)
    if broken.apart:
        sizes = times(broken.shape[-broken.apart :])
        yield appended(broken, f"If {sizes} are one item", f".flatten({-broken.apart})")


def lost_there(broken: LayerWidth, reduced: AxisChange | None) -> Iterator[Fact]:
    if reduced is not None:
        (made,) = fact_at("reduced at", reduced.producer)
        shapes = f"{shape_of(reduced.before)} → {shape_of(reduced.after)}"
        yield Fact(made.name, f"{made.value}: {shapes}, without the axis of {broken.width}")


def other_reduction(broken: LayerWidth, reduced: AxisChange | None, case: Case) -> Iterator[Remedy]:
    """The same reduction over the axis that was left."""
    if reduced is None:
        return
    node, source = case.node(reduced.producer), case.source(reduced.producer.place)
    axis = reduced.before.index(broken.size, 1)
    if source is None or not isinstance(node, ast.Call):
        return
    is_method = receiver(source, node) is not (node.args[0] if node.args else None)
    names = ("dim", 0 if is_method else 1), ("axis", 0 if is_method else 1)
    written = [source.argument(node, name, position) for name, position in names]
    at = next((part for part in written if part is not None), None)
    number = axis - len(reduced.before) if isinstance(at, ast.UnaryOp) else axis
    if at is not None:
        words = f"Reduce axis {axis}, of {broken.size}, and keep that of {broken.width}:"
        words = f"{words} {code(source.segment(at))} → `{number}`."
        yield ReplaceWith(at=case.expression(source, at), text=str(number), words=words)


def table_as_wide(lineage: Lineage, size: int) -> Producer | None:
    """The newest table on the way that has a column for each feature."""
    tables = (known for known in lineage.producers if known.value.kind == "DataFrame")
    return next((known for known in tables if len(known.value.members) == size), None)


def columns_of(table: Producer | None) -> tuple[Fact, ...]:
    if table is None:
        return ()
    return (Fact("its columns", f"{some(table.value.members)}, at {table.place}"),)


def read_with_its_index(lineage: Lineage, table: Producer | None) -> Producer | None:
    """The call that read a file into which a table was written with its index: that has no name,
    and became the first column."""
    names = table.value.members if table is not None else {}
    if UNNAMED not in names:
        return None
    readers = (known for known in lineage.producers if known.kind is ProducerKind.FILE)
    return next((known for known in readers if UNNAMED in known.value.members), None)


def without_the_index(reader: Producer | None) -> Iterator[Remedy]:
    if reader is not None:
        words = f"`{UNNAMED}` is the index that was written into the file: `index_col=0`."
        yield SetArgument(at=reader, name="index_col", value="0", words=words)


def joined_rows(broken: LayerWidth) -> Iterator[Remedy]:
    if broken.joined and broken.axis == len(broken.shape) - 1:
        words = f"If each row joins {broken.joined} items of {broken.width}"
        yield appended(broken, words, f".unflatten(-1, ({broken.joined}, {broken.width}))")


def appended(broken: LayerWidth, condition: str, suffix: str) -> Remedy:
    words = f"{condition}: {code(broken.given.name.strip('`') + suffix)}."
    return Append(at=broken.given.use, suffix=suffix, words=words, choice=True, alike=False)


def narrower(broken: LayerWidth, case: Case) -> Iterator[Remedy]:
    """The other layer gives the width that this one takes."""
    other = broken.given_by(case)
    if other is None or not other.by_hand:
        return
    for at in reversed(other.chosen):
        gives = f"{code(other.constructor.text)} must give it: {broken.width} at {at.place}"
        words = f"If {broken.width} is right, {gives}."
        yield ReplaceWith(at=at, text=str(broken.width), words=words, choice=True)


def other_data(broken: LayerWidth, case: Case) -> Fix:
    file = width_on_disk(case, broken.shape, broken.size)
    where = f"where {broken.given.name} is read{f' ({file})' if file else ''}"
    return Fix(f"If {broken.width} is right, these are other data: check {where}.", choice=True)


def width_on_disk(case: Case, shape: tuple[int, ...], width: int) -> str:
    """`data/part-0.npy says 999 × 4000`, if all files so wide have rows of one shape; rows of the
    very shape of the tensor go before others."""
    answer = case.ask(ArraysOnDisk, width=width)
    files = answer.files if answer is not None else ()
    fitting = [known for known in files if known.shape[1:] == shape[1:]] or files
    rows = {known.shape[1:] or known.shape for known in fitting}
    if len(rows) != 1:
        return ""
    more = f" and {len(fitting) - 1:,} more say" if len(fitting) > 1 else " says"
    return f"{fitting[0].file}{more} {times(rows.pop())}"
