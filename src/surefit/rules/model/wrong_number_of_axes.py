"""A layer was given a tensor with more or fewer axes than it takes.

## What happens
A layer takes a tensor of so many axes: `nn.LSTM` takes rows, steps and features, `nn.Conv2d` rows,
channels, height and width, a transformer's `inputs_embeds` rows, steps and features. Rows that were
averaged over their steps have lost one, a row without a batch has one too few, and `unsqueeze` in
a dataset, or an axis of size 1 in a saved array, is one too many.

## Why it matters
Python says `Expected 3D`, or `not enough values to unpack`, somewhere in a library, far from the
line where the axis went or came. Many layers also take one axis less, for a single row: then rows
are silently read as steps or channels.

## What to do
Mend it where the axis was lost or added, not by a reshape in front of the layer: do not average
over steps, put a single row into a batch with `unsqueeze(0)`, leave `unsqueeze` out where the
loader already stacks rows, and give `squeeze` the axis that it shall take away.

## How it is recognised
The innermost layer that was being called takes a certain number of axes by its kind, a model of
transformers by the name of its argument, and the tensor that it was given has another number. A
second run tells which operation changed the number of axes; what was done to an array before it
became a tensor is read from your source.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Frame
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, shape_of
from surefit.evidence.axes_taken import AxesMisfit, axes_misfit_of
from surefit.evidence.axis_stories import (
    ADDS,
    REDUCES,
    Change,
    axis_story,
    in_rows,
    last_part,
    lost_before_convolution,
    newest,
    receiver,
)
from surefit.evidence.frame_names import named
from surefit.evidence.layer_names import described, name
from surefit.evidence.row_makers import row_makers
from surefit.evidence.value_stories import story_of_value
from surefit.source.edits import BINDS_TIGHTLY, appended, inserted_before, replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source

RULE = Rule(
    "SF311",
    "wrong-number-of-axes",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"[Ee]xpected (input to be )?\d+D (\(unbatched\) )?or \d+D|expected \d+D(, \d+D)? input"
            r"|not enough values to unpack \(expected [234], got [123]\)"
            r"|should be (un)?batched 2-?D or|received \d-D query",
            "how many axes the layer takes, and which line added or lost one",
        ),
    ),
)

ONLY_YOU = "which axis is meant only you know"
NOT_THERE = "the place to change was not found in your source"


@dataclass(frozen=True, slots=True)
class Cause:
    """Where the axis went or came, in words, and what to do about it."""

    place: Place
    said: str
    text: str
    edit: Edit | None
    wanted: tuple[int | None, ...]
    """Shape of the input in the batch of the fault, once it is mended."""
    call: "AtCall | None" = None
    """Where that is seen, if not under the name of the input itself."""


@RULE.on(Crash)
def input_has_other_axes(crash: Crash, seen: Recording) -> Iterator[Finding]:
    misfit = axes_misfit_of(crash) if is_cause(crash, seen) else None
    if misfit is None or crash.own_frame is None:
        return
    story = story_of_value(seen, crash, misfit.frame, misfit.given.text)
    told = axis_story(story, seen)
    change = newest(told, misfit.missing > 0)
    if change is None and told.began is None:
        change = in_rows(seen, misfit.missing > 0)
    cause = cause_of(change, misfit) if change else None
    if cause is None and change is not None and change.picks_a_row:
        cause = one_row_at_call(crash, change, seen)
    if cause is None and misfit.missing == -1:
        cause = extra_axis_of_data(told.began, misfit)
    yield finding(crash, misfit, change, cause, crash.own_frame, seen)


@RULE.on(Crash)
def rows_were_read_as_channels(crash: Crash, seen: Recording) -> Iterator[Finding]:
    """A convolution also takes a single row, which has one axis less."""
    lost = lost_before_convolution(crash, seen) if is_cause(crash, seen) else None
    cause = cause_of(lost[1], lost[0]) if lost else None
    if lost and cause and crash.own_frame:
        yield finding(crash, lost[0], lost[1], cause, crash.own_frame, seen)


def finding(
    crash: Crash,
    misfit: AxesMisfit,
    change: Change | None,
    cause: Cause | None,
    frame: Frame,
    seen: Recording,
) -> Finding:
    at_call = (cause.call if cause else None) or named_at_call(crash, misfit)
    place = cause.place if cause else frame.place
    return RULE.finding(
        place,
        headline(misfit, cause),
        facts=tuple(facts(misfit, place, change)),
        why=why(misfit, change),
        fixes=tuple(fixes(misfit, cause, at_call, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def headline(misfit: AxesMisfit, cause: Cause | None) -> str:
    least = f"{misfit.axes - 1} or " if misfit.or_less else ""
    axes = f"{least}{counted(misfit.axes, 'axis')} ({misfit.words})"
    takes = f"{called_name(misfit)} takes {axes}"
    given = f"was given {shape_of(misfit.shape)}"
    return f"{takes} and {given}{f': {cause.said}' if cause else ''}."


def called_name(misfit: AxesMisfit) -> str:
    return f"`{misfit.argument}` of {name(misfit.layer)}" if misfit.argument else name(misfit.layer)


def facts(misfit: AxesMisfit, place: Place, change: Change | None) -> Iterator[Fact]:
    layer = misfit.layer
    made = f", made at {layer.made_at}" if layer.made_at and layer.made_at != place else ""
    yield Fact(name(layer), described(layer) + made)
    yield Fact("its input", shape_of(misfit.shape))
    if change is None or change.source is None or change.node is None:
        return
    before = f"  {shape_of(change.before)} → {shape_of(change.after)}" if change.before else ""
    went = "an axis lost at" if misfit.missing > 0 else "an axis added at"
    yield Fact(went, f"{change.place}  {last_part(change.source, change.node)}{before}")


def why(misfit: AxesMisfit, change: Change | None) -> str:
    if change is None:
        return ""
    if change.name in ADDS and change.rows:
        return "A loader puts the axis of the rows in front; a row must come without one."
    if change.name == "squeeze" and misfit.missing > 0:
        return "`squeeze()` takes every axis of size 1 away, that of a batch of one row too."
    return ""


def cause_of(change: Change, misfit: AxesMisfit) -> Cause | None:
    if change.source is None or change.node is None:
        return None
    source, node = change.source, change.node
    shown = code(last_part(source, node))
    axis = change.axis
    if misfit.missing < 0:
        if axis is None or axis >= len(misfit.shape) or misfit.shape[axis] != 1:
            return None
        wanted = without(misfit.shape, axis, exact=axis > 0 or not change.rows)
        edit = taken_away(source, node)
        text = f"Leave the extra axis out: {code(inner(source, node))}."
        return Cause(change.place, f"{shown} adds an axis of size 1", text, edit, wanted)
    if change.picks_a_row:
        return of_one_row(change, misfit, source, node)
    if change.name == "squeeze":
        return of_squeeze(change, misfit, source, node, shown)
    if change.name not in REDUCES and change.name != "__getitem__":
        return Cause(change.place, f"{shown} takes an axis away", "", None, ())
    if axis is None:
        return None
    wanted_shape = (*misfit.shape[:axis], None, *misfit.shape[axis:])
    text = f"Keep the axis, which {called_of(misfit)} reads along: {code(inner(source, node))}."
    said = f"{shown} takes axis {axis} away"
    return Cause(change.place, said, text, taken_away(source, node), wanted_shape)


def of_one_row(change: Change, misfit: AxesMisfit, source: Source, node: ast.expr) -> Cause | None:
    """Taken from the data by a number, with nothing around it; a dataset's own function gives
    single rows rightly, and is no place to change."""
    if any(node in ast.walk(maker.function) for maker in row_makers(source)):
        return None
    whole = source.segment(node)
    said = f"{code(whole)} is one row of {shape_of(change.before)}, without a batch around it"
    text = f"Give it a batch of one row: {code(whole + '.unsqueeze(0)')}."
    edit = appended(source, node, ".unsqueeze(0)")
    return Cause(change.place, said, text, edit, (1, *misfit.shape))


def one_row_at_call(crash: Crash, change: Change, seen: Recording) -> Cause | None:
    """What a dataset gives for a number, put into a batch where the user's line hands it on."""
    for frame in (one for one in crash.frames if one.own):
        texts = [text for text, one in named(frame) if one.shape == change.after]
        source = seen.source(frame.place)
        statement = source.statement_at(frame.place.line or 0) if source else None
        if not texts or source is None or statement is None:
            continue
        found = [one for one in ast.walk(statement) if is_read(one, texts[0])]
        if len(found) != 1 or not isinstance(found[0], ast.expr):
            return None
        new = f"{texts[0]}.unsqueeze(0)"
        said = f"{code(texts[0])} is one row, {shape_of(change.after)}, without a batch around it"
        text = f"Give it a batch of one row: {code(new)}."
        edit = appended(source, found[0], ".unsqueeze(0)")
        call = AtCall(frame, new, change.after)
        return Cause(frame.place, said, text, edit, (1, *change.after), call)
    return None


def is_read(node: ast.AST, text: str) -> bool:
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return False
    return isinstance(node.ctx, ast.Load) and ast.unparse(node) == text


def called_of(misfit: AxesMisfit) -> str:
    return "the model" if misfit.argument else name(misfit.layer)


def of_squeeze(
    change: Change, misfit: AxesMisfit, source: Source, node: ast.expr, shown: str
) -> Cause | None:
    """Without an axis, it took the row of a batch of one along."""
    if not isinstance(node, ast.Call) or (node.args[1:] or node.keywords) or not change.before:
        return None
    others = [at for at, size in enumerate(change.before) if size == 1 and at > 0]
    lost = len(change.before) - len(change.after)
    if change.before[0] != 1 or len(others) != lost - 1 or len(others) > 1:
        return None
    said = f"{shown} takes the axis of the rows away where a batch has only one"
    behind = tuple(misfit.shape)
    if not others:
        edit = taken_away(source, node)
        return Cause(change.place, said, "Leave `squeeze()` out.", edit, (1, *behind))
    axis = -1 if others[0] == len(change.before) - 1 else others[0]
    new = f"{inner(source, node)}.squeeze({axis})"
    text = f"Say which axis is meant: {code(new)}."
    return Cause(change.place, said, text, replaced(source, node, new), (1, *behind))


def extra_axis_of_data(began: Change | None, misfit: AxesMisfit) -> Cause | None:
    """The data themselves have an axis of size 1 that nobody takes away."""
    ones = [at for at, size in enumerate(misfit.shape) if size == 1]
    if began is None or began.source is None or began.node is None or len(ones) != 1:
        return None
    own = ones[0] - began.rows
    if own < 0 or not began.after or own >= len(began.after) or began.after[own] != 1:
        return None
    behind = f".squeeze({own})"
    shown = code(began.source.segment(began.node))
    said = f"{shown} has an axis of size 1 at {own}"
    text = f"Take it away there: {code(began.source.segment(began.node) + behind)}."
    wanted = without(misfit.shape, ones[0], exact=ones[0] > 0)
    edit = appended(began.source, began.node, behind)
    return Cause(began.place, said, text, edit, wanted)


def without(shape: tuple[int, ...], axis: int, exact: bool) -> tuple[int | None, ...]:
    """A shape without one axis; where that stood for the rows, their number is not known."""
    left: tuple[int | None, ...] = (*shape[:axis], *shape[axis + 1 :])
    return left if exact else (None, *left[1:])


def taken_away(source: Source, node: ast.expr) -> Edit:
    return replaced(source, node, inner(source, node))


def inner(source: Source, node: ast.expr) -> str:
    """What is left of an expression without its last operation."""
    inside = receiver(source, node)
    if inside is None:
        return source.segment(node)
    text = source.segment(inside)
    return text if isinstance(inside, BINDS_TIGHTLY) else f"({text})"


@dataclass(frozen=True, slots=True)
class AtCall:
    """The input under a name of the user's, at the line of the call."""

    frame: Frame
    text: str
    shape: tuple[int, ...]


def named_at_call(crash: Crash, misfit: AxesMisfit) -> AtCall | None:
    """The very tensor; or one that has the same axes but for the width, before a layer gave it
    another: outside of the model first."""
    own = [frame for frame in crash.frames if frame.own]
    for frame in own:
        for text, one in named(frame):
            if one.identity == misfit.given.identity and one.shape:
                return AtCall(frame, text, one.shape)
    for frame in own:
        for text, one in named(frame):
            shape = one.shape if one.kind != "Parameter" else None
            if shape and len(shape) > 1 and shape[:-1] == misfit.shape[:-1]:
                return AtCall(frame, text, shape)
    return None


def fixes(
    misfit: AxesMisfit, cause: Cause | None, call: AtCall | None, seen: Recording
) -> Iterator[Fix]:
    if cause is not None and cause.text:
        if cause.edit is None or call is None:
            yield Fix(cause.text, cause.edit, why_not_tried=NOT_THERE)
            return
        last = cause.wanted[-1] if call.shape == misfit.shape else call.shape[-1]
        wanted = (*cause.wanted[:-1], last if cause.wanted[-1] is not None else None)
        yield Fix(cause.text, cause.edit, ValuesAt(call.frame.place, (Wanted(call.text, wanted),)))
        return
    yield from by_hand(misfit, call, seen)


def by_hand(misfit: AxesMisfit, call: AtCall | None, seen: Recording) -> Iterator[Fix]:
    """Where the line that did it is not known: in front of the call."""
    ones = [at for at, size in enumerate(misfit.shape) if size == 1]
    given = call.text if call else "x"
    if misfit.missing == -1 and len(ones) == 1 and call is not None:
        text = f"{given} = {given}.squeeze({ones[0]})"
        edit = line_before(call, text, seen)
        wanted = without(call.shape, ones[0], exact=True)
        must = ValuesAt(call.frame.place, (Wanted(given, wanted),))
        yield Fix(
            f"Take the axis of size 1 away: {code(text)}.", edit, must, "" if edit else NOT_THERE
        )
    elif misfit.missing < 0:
        yield Fix(
            f"Give it {counted(misfit.axes, 'axis')}: `{given}.flatten(0, {-misfit.missing})` makes"
            f" rows of the first {1 - misfit.missing} axes, if that is what they are.",
            why_not_tried=ONLY_YOU,
        )
    else:
        yield Fix(
            f"If {shape_of(misfit.shape)} is one row, give it a batch: `{given}.unsqueeze(0)`.",
            why_not_tried=ONLY_YOU,
        )
        yield Fix(
            f"If its first axis counts rows, look where it lost an axis: {misfit.words} are"
            " expected.",
            why_not_tried=ONLY_YOU,
        )


def line_before(call: AtCall, text: str, seen: Recording) -> Edit | None:
    source = seen.source(call.frame.place)
    statement = source.statement_at(call.frame.place.line or 0) if source else None
    if source is None or statement is None or hasattr(statement, "body"):
        return None
    try:
        return inserted_before(source, statement, text)
    except ValueError:
        return None
