"""A layer was given another number of features than it was made for.

## What happens
A layer is made for one width: `nn.Linear(271, 256)` multiplies rows of 271 numbers. PyTorch counts
all axes but the last together when it complains, so that an input of shape (256, 999, 4000) reads
`255744x4000`, and which of your axes is meant cannot be seen.

## Why it matters
The quick way out, a new layer as wide as whatever arrives, trains on the wrong features without a
word; made after the optimizer, it is not even trained.

## What to do
Find out which of the two widths is meant. If it is the layer's, the data are other data, or their
axes are in another order; if it is the data's, declare it where the layer is made, before the
optimizer is. Only you can choose, so no such change is called proved.

## How it is recognised
The innermost layer that was being called has a declared width (`in_features`, `in_channels`,
`input_size`, `embed_dim`...), and the tensor that it was given has another size on that axis.
Swapped axes, rows joined into one and rows not joined yet are shown where the numbers allow them,
and ruled out where they do not.

In a script that is only read: the widths of layers are followed from call to call, through
`forward`, `nn.Sequential`, functions, constants and loaders, and one layer is given another width
than it takes.
"""

from collections.abc import Iterator
from math import isqrt, prod

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Operation, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import shape_of, spoken, times
from surefit.evidence.axes_taken import axes_misfit_of
from surefit.evidence.axis_stories import lost_before_convolution
from surefit.evidence.frame_names import name_in
from surefit.evidence.layer_names import described, name
from surefit.evidence.misfits import Misfit, declared_by, is_from_outside, misfit_of
from surefit.evidence.picture_layouts import layout_of
from surefit.evidence.value_stories import line_of, story_of_value, taken
from surefit.evidence.widths import (
    axes_as_wide,
    axes_that_make,
    can_be_reshaped,
    items_in_a_row,
    positions_for,
)
from surefit.interpreter import wording
from surefit.interpreter.violation_kinds import is_channel_layout
from surefit.interpreter.violations import WidthMismatch
from surefit.source.reading import called

RULE = Rule(
    "SF301",
    "feature-width-mismatch",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"mat1 and mat2 shapes cannot be multiplied|size mismatch, got \d"
            r"|Given groups=\d+, (weight|expected weight)|input\.size\(-1\) must be equal to"
            r"|Given normalized_shape=|running_mean should contain \d+ elements"
            r"|was expecting embedding dimension of|Expected weight to be (a vector|of same shape)",
            "the shape of what the innermost layer was given, and the width that it was made for",
        ),
    ),
)

ONLY_YOU = (
    "only you know which width is meant, and a layer made to fit would train on the wrong"
    " features without a word"
)
FLATTEN = ("flatten", "view", "reshape")
RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")
KEEPS_WIDTH = (
    "dropout",
    "index_select",
    "_pad_packed_sequence",
    "contiguous",
    "__getitem__",
    "select",
    "transpose",
    "layer_norm",
    "relu",
    "tanh",
)
MAP = 4
"""Axes of a map: rows, channels, height, width."""


@RULE.on(Crash)
def layer_was_given_another_width(crash: Crash, seen: Recording) -> Iterator[Finding]:
    misfit = misfit_of(crash) if is_cause(crash, seen) else None
    frame = crash.own_frame
    if misfit is None or frame is None:
        return
    layer = misfit.layer
    outside = is_from_outside(crash, misfit, seen)
    if outside and layout_of(misfit) is not None:
        return  # pictures-in-another-layout speaks of that
    if axes_misfit_of(crash) is not None or lost_before_convolution(crash, seen) is not None:
        return  # wrong-number-of-axes does
    made = [] if outside else story_of_value(seen, crash, misfit.frame, misfit.given.text)
    place = frame.place if outside or layer.made_at is None else layer.made_at
    unit = "channels" if misfit.counts_channels else "features per item"
    yield RULE.finding(
        place,
        f"{name(layer)} takes {misfit.width} {unit} and was given {misfit.size}.",
        facts=(
            Fact(name(layer), described(layer) + made_elsewhere(misfit, place)),
            input_fact(crash, misfit),
            *origin(made, seen),
            *possible(misfit),
            *(on_disk(crash, misfit, seen) if outside and list(possible(misfit)) else ()),
        ),
        ruled_out=tuple(impossible(misfit)),
        why=sized_for(misfit, made),
        fixes=tuple(fixes(crash, misfit, made, outside, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def made_elsewhere(misfit: Misfit, place: Place) -> str:
    made_at = misfit.layer.made_at
    return f", made at {made_at}" if made_at and made_at != place else ""


def input_fact(crash: Crash, misfit: Misfit) -> Fact:
    """Its shape, and what PyTorch makes of that in its message."""
    shape = misfit.shape
    said = shape_of(shape)
    rows = prod(shape[:-1])
    printed = f"{rows}x{shape[-1]}"
    if printed in crash.said:
        counted = f", for {times(shape[:-1])} = {rows}" if len(shape) > 2 else ""
        said += f"; PyTorch prints it as {printed}{counted}"
    return Fact("its input", said)


def origin(made: list[Operation], seen: Recording) -> Iterator[Fact]:
    """What made the input, by a second run that recorded operations."""
    if not made or made[0].place is None:
        return
    shapes = [shape_of(one.shape) for one in taken(made[0], made) if one.name != "parameter"]
    of = f" of {spoken(shapes)}" if shapes else ""
    if made[0].own:
        yield Fact("its input is made at", f"{made[0].place}  {line_of(made[0], seen)}{of}")
    else:
        yield Fact("its input is made by", f"`{made[0].name}`{of}")


def possible(misfit: Misfit) -> Iterator[Fact]:
    """Ways to this shape that the numbers allow."""
    for axis in other_axes(misfit):
        yield Fact("another axis", f"axis {axis} of {shape_of(misfit.shape)} is {misfit.width}")
    if misfit.counts_channels:
        return
    joined = items_in_a_row(misfit.size, misfit.width)
    if joined:
        yield Fact("joined rows", f"{misfit.size} = {joined} × {misfit.width}")
    apart = axes_that_make(misfit.shape, misfit.width)
    if apart:
        yield Fact("not joined yet", f"{times(misfit.shape[-apart:])} = {misfit.width}")


def other_axes(misfit: Misfit) -> list[int]:
    """Axes with the width; where there are more than two, the first one counts rows."""
    found = axes_as_wide(misfit.shape, misfit.axis, misfit.width)
    return [axis for axis in found if axis > 0 or len(misfit.shape) == 2]


def impossible(misfit: Misfit) -> Iterator[Fact]:
    """Ways to this shape that the numbers rule out."""
    width, shape = misfit.width, misfit.shape
    if not axes_as_wide(shape, misfit.axis, width):
        yield Fact("swapped axes", f"no axis of {shape_of(shape)} is {width}")
    if not can_be_reshaped(shape, width):
        whole = f"{times(shape)} = {prod(shape):,}" if len(shape) > 1 else f"{shape[0]}"
        yield Fact("wrong reshape", f"{whole}: no multiple of {width}")
    elif not misfit.counts_channels and not items_in_a_row(misfit.size, width):
        yield Fact("joined rows", f"{misfit.size} is no multiple of {width}")


def flattened_map(misfit: Misfit, made: list[Operation]) -> tuple[int, ...]:
    """Channels, height and width of the map that was flattened into the input; or nothing."""
    before = taken(made[0], made)[:1] if made and made[0].name in FLATTEN else []
    shape = before[0].shape if before else ()
    return shape[1:] if len(shape) == MAP and prod(shape[1:]) == misfit.size else ()


def sized_for(misfit: Misfit, made: list[Operation]) -> str:
    """The width that a layer behind a flattened map declares says which map was expected."""
    if goes_both_ways(misfit, made):
        layer = "recurrent layer before it"
        return f"The {layer} reads both ways and gives {misfit.width} for each of them."
    channels, *sides = flattened_map(misfit, made) or (0,)
    if not sides:
        return ""
    positions = positions_for(misfit.width, channels)
    here = f"{misfit.size} = {times((channels, *sides))}, a flattened map"
    if positions is None:
        return f"{here}; {misfit.width} is no multiple of its {channels} channels."
    return f"{here}; {misfit.width} would be {times((channels, *sides_of(positions)))}."


def goes_both_ways(misfit: Misfit, made: list[Operation]) -> bool:
    """The input is that of a recurrent layer in two directions, whose results stand in one row;
    what leaves the width alone, a dropout or a padding, may lie between."""
    here = made[0] if made and misfit.size == 2 * misfit.width else None
    while here is not None and here.name not in RECURRENT:
        before = taken(here, made)[:1] if here.name in KEEPS_WIDTH else []
        here = next((one for one in before if one.shape[-1:] == (misfit.size,)), None)
    return here is not None


def sides_of(positions: int) -> tuple[int, ...]:
    side = isqrt(positions)
    return (side, side) if side * side == positions else (positions,)


def fixes(
    crash: Crash, misfit: Misfit, made: list[Operation], outside: bool, seen: Recording
) -> Iterator[Fix]:
    given = users_name(crash, misfit)
    ways = [] if goes_both_ways(misfit, made) else list(rearranged(misfit, given))
    if not ways and not goes_both_ways(misfit, made):
        ways = [other_data(crash, misfit, made, given, seen) if outside or made else ""]
    for text in ways:
        if text:
            yield Fix(text, why_not_tried=ONLY_YOU)
    yield Fix(
        f"If {misfit.size} is right, declare it{declared(misfit, seen)}, before the optimizer.",
        why_not_tried=ONLY_YOU,
    )


def rearranged(misfit: Misfit, given: str) -> Iterator[str]:
    """What would bring the numbers into the declared width."""
    unit = "channels" if misfit.counts_channels else "features"
    for axis in other_axes(misfit):
        first, second = sorted((axis, misfit.axis))
        if misfit.counts_channels and axis == len(misfit.shape) - 1 > 2:
            order = ", ".join(map(str, (0, axis, *range(1, axis))))
            yield f"If axis {axis} holds the {unit}: `{given}.permute({order})`."
            continue
        yield f"If axis {axis} holds the {unit}: `{given}.transpose({first}, {second})`."
    if misfit.counts_channels:
        return
    joined = items_in_a_row(misfit.size, misfit.width)
    if joined:
        new = f"`{given}.unflatten(-1, ({joined}, {misfit.width}))`"
        yield f"If each row joins {joined} items of {misfit.width}: {new}."
    apart = axes_that_make(misfit.shape, misfit.width)
    if apart:
        yield f"If {times(misfit.shape[-apart:])} are one item: `{given}.flatten({-apart})`."


def other_data(
    crash: Crash, misfit: Misfit, made: list[Operation], given: str, seen: Recording
) -> str:
    channels, *_ = flattened_map(misfit, made) or (0,)
    positions = positions_for(misfit.width, channels) if channels else None
    if positions is not None and len(sides_of(positions)) == 2:
        pool = f"`nn.AdaptiveAvgPool2d({isqrt(positions)})`"
        return (
            f"If {misfit.width} is right, give it other pictures, or {pool} before {made[0].place}."
        )
    if made and made[0].place:
        what = f"what {made[0].place} makes" if made[0].own else "the layer before it"
        return f"If {misfit.width} is right, change {what}."
    file = file_of(crash, misfit, seen)
    where = f"where `{given}` is read{f' ({file})' if file else ''}"
    return f"If {misfit.width} is right, these are other data: check {where}."


def users_name(crash: Crash, misfit: Misfit) -> str:
    """What the innermost own line calls the input."""
    frame = crash.own_frame
    return (name_in(frame, misfit.given) if frame else None) or misfit.given.text


def file_of(crash: Crash, misfit: Misfit, seen: Recording) -> str:
    """Files that are as wide as the input, if their rows are all of one shape; rows of the very
    shape of the input go before others."""
    said = seen.ask(Question("arrays-on-disk", crash.id, {"width": misfit.size}))
    files = said.get("files") if said else None
    known = [
        (str(one["file"]), tuple(int(str(size)) for size in one["shape"]))
        for one in (files if isinstance(files, list) else ())
    ]
    exact = [one for one in known if one[1][1:] == misfit.shape[1:]]
    fitting = exact or known
    rows = {shape[1:] or shape for _, shape in fitting}
    if len(rows) != 1:
        return ""
    more = f" and {len(fitting) - 1:,} more say" if len(fitting) > 1 else " says"
    return f"{fitting[0][0]}{more} {times(rows.pop())}"


def on_disk(crash: Crash, misfit: Misfit, seen: Recording) -> Iterator[Fact]:
    """What the file's own header says, where the input came from outside."""
    file = file_of(crash, misfit, seen)
    if file:
        yield Fact("on disk", f"{file} in a row")


def declared(misfit: Misfit, seen: Recording) -> str:
    """The layer's own constructor with the other width, where the source has just one there."""
    made_at = misfit.layer.made_at
    source = seen.source(made_at)
    if source is None or made_at is None or made_at.line is None:
        return f" where {name(misfit.layer)} is made"
    calls = [one for one in source.calls_in(made_at.line) if called(one) == misfit.layer.kind]
    width = (
        source.argument(calls[0], declared_by(misfit.layer.kind), 0) if len(calls) == 1 else None
    )
    if width is None:
        return f" where {name(misfit.layer)} is made, {made_at}"
    whole, old = source.segment(calls[0]), source.segment(width)
    begin = whole.index(old, len(source.segment(calls[0].func)))
    text = f"{whole[:begin]}{misfit.size}{whole[begin + len(old) :]}"
    return f": `{' '.join(text.split())}` at {made_at}"


@RULE.on(Script)
def widths_in_the_source_do_not_fit(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, WidthMismatch):
        if is_channel_layout(one):
            continue
        name = wording.layer_name(source, one.node, one.layer)
        yield RULE.finding(
            wording.place_of(source, one.node),
            f"{name} takes {one.takes} features per item and is given {one.has}.",
            facts=(
                wording.layer_fact(source, name, one.layer),
                Fact("its input", wording.describe_tensor(source, one.tensor)),
            ),
            fixes=(
                Fix(
                    f"If {one.has} is right, declare it where {name} is made.",
                    why_not_tried=wording.ONLY_READ,
                ),
                Fix(
                    f"If {one.takes} is right, change what comes before it.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
