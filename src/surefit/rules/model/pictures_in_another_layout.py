"""Pictures reach a convolution with their channels last, or without an axis for channels.

## What happens
A convolution of PyTorch takes (rows, channels, height, width). Files, NumPy and most libraries for
pictures give (height, width, channels), and grey pictures often (height, width) alone: then rows or
heights are counted as channels.

## Why it matters
A transposition that makes the numbers fit (`transpose(1, 3)`) also swaps height and width; a layer
made for as many channels as there are pixel rows trains, and learns nothing that moves.

## What to do
`permute(2, 0, 1)` where a picture is read, or `permute(0, 3, 1, 2)` for a batch; for grey pictures
`unsqueeze(0)`, or `unsqueeze(1)` for a batch.

## How it is recognised
A convolution for 1, 3 or 4 channels was given the input of the model itself, and only the last axis
has as many; or it is for 1 channel, and the input has one axis too few. Where a picture was made is
read from the dataset's source or told by a second run.

In a script that is only read: a tensor whose sizes stand in the source reaches a convolution for 1,
3 or 4 channels, and only its last axis has as many; or the axis for channels is missing.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, shape_of
from surefit.evidence.frame_names import name_in
from surefit.evidence.layer_names import described, name
from surefit.evidence.misfits import Misfit, is_from_outside, misfit_of
from surefit.evidence.picture_layouts import Layout, layout_of
from surefit.evidence.returned_rows import returned_for
from surefit.evidence.stray_names import Named
from surefit.evidence.value_stories import story_of_value
from surefit.interpreter import wording
from surefit.interpreter.violation_kinds import is_channel_layout, lacks_channels
from surefit.interpreter.violations import WidthMismatch
from surefit.source.edits import appended, inserted_before
from surefit.source.patches import Edit
from surefit.source.reading import called

RULE = Rule(
    "SF308",
    "pictures-in-another-layout",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"expected input\[.*\] to have \d+ channels",
            "whether the last axis of the input has as many as the convolution takes",
        ),
    ),
)

MADE_OF_DATA = ("from_numpy", "tensor", "as_tensor")
MAKES_A_TENSOR = (*MADE_OF_DATA, "float", "to")


@dataclass(frozen=True, slots=True)
class Change:
    """Where the axes can be put in order, and how that reads."""

    place: Place
    text: str
    edit: Edit | None


@RULE.on(Crash)
def axes_are_in_another_order(crash: Crash, seen: Recording) -> Iterator[Finding]:
    misfit = misfit_of(crash) if is_cause(crash, seen) else None
    layout = layout_of(misfit) if misfit else None
    if misfit is None or layout is None or not is_from_outside(crash, misfit, seen):
        return
    named = named_outside(crash, misfit)
    frame = crash.own_frame
    if frame is None:
        return
    changes = list(where_to_change(crash, seen, named, layout)) if named else []
    shown = code(named.text) if named else "The input"
    yield RULE.finding(
        changes[0].place if changes else frame.place,
        f"{shown} is {shape_of(misfit.shape)} and {layout.said}; {name(misfit.layer)} takes"
        f" {misfit.width} in front of height and width.",
        facts=(
            Fact(name(misfit.layer), f"{described(misfit.layer)}, made at {misfit.layer.made_at}"),
            Fact("its input", shape_of(misfit.shape)),
            Fact("as it takes it", shape_of(layout.shape)),
        ),
        why="PyTorch counts channels first; files and NumPy count them last.",
        fixes=tuple(fixes(named, changes, layout)),
        python_said=crash.said,
        about=crash.id,
    )


def named_outside(crash: Crash, misfit: Misfit) -> Named | None:
    """What the user's own loop or function calls it, outermost first."""
    for frame in crash.frames:
        text = name_in(frame, misfit.given) if frame.own and frame.layer is None else None
        if text:
            return Named(frame, text, misfit.given)
    return None


def where_to_change(
    crash: Crash, seen: Recording, named: Named, layout: Layout
) -> Iterator[Change]:
    """Where a dataset returns a picture, if that surely is a tensor; otherwise where a second run
    has seen it made, and before the model."""
    made = in_dataset(seen, named, layout)
    if made is not None:
        yield made
        return
    ways = as_told(crash, seen, named, layout), before_the_model(seen, named, layout)
    yield from (one for one in ways if one is not None)


def in_dataset(seen: Recording, named: Named, layout: Layout) -> Change | None:
    returned = returned_for(seen, named)
    if returned is not None:
        node = returned.node
        known = isinstance(node, ast.Call) and called(node) in MAKES_A_TENSOR
        if known:
            text = f"{returned.source.segment(node)}{layout.row}"
            return Change(returned.place, text, appended(returned.source, node, layout.row))
    return None


def as_told(crash: Crash, seen: Recording, named: Named, layout: Layout) -> Change | None:
    """The newest call that made a tensor of each picture of the batch, or of all of them."""
    shape = named.value.shape or ()
    story = story_of_value(seen, crash, crash.frames.index(named.frame), named.text)
    for one in story:
        source = seen.source(one.place) if one.own else None
        calls = (
            list(source.calls_in(one.place.line)) if source and one.place and one.place.line else []
        )
        nodes = [call for call in calls if called(call) == one.name and one.name in MADE_OF_DATA]
        if source is None or len(nodes) != 1:
            continue
        again = [other for other in story if (other.name, other.place) == (one.name, one.place)]
        way = ""
        if one.shape == shape[1:] and len(again) >= shape[0]:
            way = layout.row
        elif one.shape[1:] == shape[1:]:
            way = layout.batch
        if way:
            text = f"{source.segment(nodes[0])}{way}"
            return Change(
                Place(source.file, nodes[0].lineno), text, appended(source, nodes[0], way)
            )
    return None


def before_the_model(seen: Recording, named: Named, layout: Layout) -> Change | None:
    source = seen.source(named.frame.place)
    statement = source.statement_at(named.frame.place.line or 0) if source else None
    if source is None or statement is None:
        return None
    text = f"{named.text} = {named.text}{layout.batch}"
    try:
        can_be = not hasattr(statement, "body")
        edit = inserted_before(source, statement, text) if can_be else None
    except ValueError:
        edit = None
    return Change(named.frame.place, text, edit)


def fixes(named: Named | None, changes: list[Change], layout: Layout) -> Iterator[Fix]:
    if named is None or not changes:
        text = f"Put its axes in order: `{layout.batch}`."
        yield Fix(text, why_not_tried="it has no name outside")
        return
    wanted = Wanted(named.text, layout.shape)
    for number, change in enumerate(changes):
        begin = "Put its axes in order" if number == 0 else "Or before the model"
        yield Fix(
            f"{begin}: {code(change.text)}.",
            change.edit,
            ValuesAt(named.frame.place, (wanted,)),
            "" if change.edit else "no line can be put before it",
        )


@RULE.on(Script)
def channels_stand_elsewhere_in_the_source(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, WidthMismatch):
        if not is_channel_layout(one):
            continue
        name = wording.layer_name(source, one.node, one.layer)
        lacks = lacks_channels(one)
        said = "has no axis for channels" if lacks else "has its channels last"
        way = "`unsqueeze(1)`" if lacks else "`permute(0, 3, 1, 2)`"
        yield RULE.finding(
            wording.place_of(source, one.tensor.node or one.node),
            f"{name} takes {one.takes} channels in front of height and width, and its input"
            f" {one.tensor.shape} {said}.",
            facts=(wording.layer_fact(source, name, one.layer),),
            fixes=(
                Fix(f"Bring the input into that order: {way}.", why_not_tried=wording.ONLY_READ),
            ),
            severity=Severity.WARNING,
        )
