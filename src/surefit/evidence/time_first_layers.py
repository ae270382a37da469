"""Layers that count rows on their second axis, and were given rows on the first."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Frame, Operation, Script, Value
from surefit.doctor.recording import Recording
from surefit.evidence.batch_rows import rows_given
from surefit.evidence.folded_rows import Rows
from surefit.evidence.recurrent_states import RECURRENT, state_of
from surefit.evidence.value_stories import story_of_value, taken
from surefit.source.classes import set_on_self
from surefit.source.reading import Source, called

RECURRENT_LAYERS = ("LSTM", "GRU", "RNN")
ATTENTIVE_LAYERS = (
    "MultiheadAttention",
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
    "Transformer",
)
SEQUENCES = 3
"""Axes of a batch of sequences: rows, steps, features."""


@dataclass(frozen=True, slots=True)
class TimeFirst:
    """What a layer took for rows, and what the batch has."""

    what: str
    """The layer's class, as the source makes it."""
    rows: int
    steps: int
    shown: tuple[tuple[str, str], ...]
    """What disagreed, and how."""
    source: Source | None = None
    call: ast.Call | None = None
    """Makes the layer."""
    mask_is_turned: bool = False
    """The layer is right, and its mask has its axes in the other order."""
    turned: ast.expr | None = None
    """What goes into the layer, where the lines behind it go on in the layer's own order."""


def time_first_in(crash: Crash, seen: Recording) -> TimeFirst | None:
    given = set(rows_given(crash, seen))
    return (
        by_state(crash, given, seen)
        or by_padding(crash, given, seen)
        or by_mask(crash, given, seen)
    )


def by_state(crash: Crash, given: set[int], seen: Recording) -> TimeFirst | None:
    """A state has the rows of the batch, and the layer took its steps for rows."""
    state = state_of(crash)
    if state is None or len(state.input) != SEQUENCES:
        return None
    rows, steps = state.input[:2]
    if (state.rows, state.wanted_rows) != (rows, steps) or (given and rows not in given):
        return None
    source, call = made_at(state.layer.made_at, RECURRENT_LAYERS, seen)
    shown = (
        ("its input", f"{state.input}: {rows} rows of {steps} steps"),
        ("the state it was given", f"{state.given.shape}, for {rows} rows"),
        ("the state it expects", f"{state.wanted}, for {steps} rows"),
    )
    return TimeFirst(state.layer.kind, rows, steps, shown, source, call)


def by_padding(crash: Crash, given: set[int], seen: Recording) -> TimeFirst | None:
    """A padding mask is (rows, steps) for every layer, and the layer took steps for rows."""
    frame = frame_with(crash, "_check_key_padding_mask")
    mask, rows = value_in(frame, "key_padding_mask"), value_in(frame, "bsz")
    shape = mask.shape if mask is not None and mask.shape else ()
    if rows is None or len(shape) != 2 or shape[1] != rows.scalar or shape[0] == shape[1]:
        return None
    shown = (("`key_padding_mask`", f"{shape}"), ("it expects", f"{shape[::-1]}"))
    if shape[0] in given and shape[1] not in given:
        source, call = made_at(layer_place(crash), ATTENTIVE_LAYERS, seen)
        what = called(call) if call else "MultiheadAttention"
        return TimeFirst(what, shape[0], shape[1], shown, source, call)
    if shape[1] in given and shape[0] not in given:
        return TimeFirst("MultiheadAttention", shape[1], shape[0], shown, mask_is_turned=True)
    return None


def by_mask(crash: Crash, given: set[int], seen: Recording) -> TimeFirst | None:
    """A mask of steps against steps, where the layer took rows for steps."""
    frame = crash.frames[-1] if crash.frames else None
    if frame is None or frame.function != "multi_head_attention_forward":
        return None
    values = {value.text: value for value in frame.values}
    mask, length, rows = values.get("attn_mask"), values.get("tgt_len"), values.get("bsz")
    if mask is None or length is None or rows is None or not mask.shape or len(mask.shape) != 2:
        return None
    steps = mask.shape[0]
    if mask.shape != (steps, steps) or rows.scalar != steps or type(length.scalar) is not int:
        return None
    if length.scalar == steps or length.scalar not in given:
        return None
    source, call = made_at(layer_place(crash), ATTENTIVE_LAYERS, seen)
    what = called(call) if call else "MultiheadAttention"
    shown = (("`attn_mask`", f"{mask.shape}"), ("it expects", f"{(length.scalar,) * 2}"))
    return TimeFirst(what, length.scalar, steps, shown, source, call)


def by_predictions(crash: Crash, rows: Rows, seen: Recording) -> TimeFirst | None:
    """As many predictions as steps: they come from the last state of a layer that took steps for
    rows."""
    if not any(True for _ in time_first_calls(seen)):
        return None
    story = story_of_value(seen, crash, rows.frame, rows.predictions.text)
    for operation in story:
        given = sequence_into(operation, story) if operation.name in RECURRENT else None
        if given is None or given.shape[:2] != (rows.labelled, rows.predicted):
            continue
        source, call = made_by(operation, seen)
        turned = None
        if operation.shape[0] == rows.labelled:
            turned = given_to_layer(operation, story, seen) if source and call else None
            if turned is None:
                return None
        shown = (
            ("its input", f"{given.shape}: {rows.labelled} rows of {rows.predicted} steps"),
            ("it gave back", f"{operation.shape}, for {rows.predicted} rows"),
        )
        if call is not None:
            return TimeFirst(
                called(call), rows.labelled, rows.predicted, shown, source, call, turned=turned
            )
    return None


def given_to_layer(
    operation: Operation, story: list[Operation], seen: Recording
) -> ast.expr | None:
    """The input in the line that runs the layer, if the first axis of what came back was then
    indexed by a number: the last step, for a layer that takes steps first."""
    indexed = [
        one
        for one in story
        if operation.serial in one.takes
        and one.name == "__getitem__"
        and one.shape == operation.shape[1:]
    ]
    source = seen.source(operation.place)
    line = operation.place.line if operation.place else None
    statement = source.statement_at(line) if source and line else None
    calls = [
        one
        for one in (ast.walk(statement) if statement else ())
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute | ast.Name) and one.args
    ]
    return calls[0].args[0] if indexed and calls else None


def sequence_into(operation: Operation, story: list[Operation]) -> Operation | None:
    return next((one for one in taken(operation, story) if len(one.shape) == SEQUENCES), None)


def time_first_calls(seen: Recording) -> Iterator[ast.Call]:
    for script in seen.all(Script):
        source = seen.source(script.file)
        for call in source.every(ast.Call) if source else ():
            if source and called(call) in RECURRENT_LAYERS and is_time_first(source, call):
                yield call


def is_time_first(source: Source, call: ast.Call) -> bool:
    """Without a word on it, or with a plain no."""
    said = source.argument(call, "batch_first")
    hidden = any(one.arg is None for one in call.keywords)
    return not hidden and (said is None or ast.unparse(said) == "False")


def made_at(
    place: Place | None, kinds: tuple[str, ...], seen: Recording
) -> tuple[Source | None, ast.Call | None]:
    """The call at a line; where a layer is a copy and its line is not known, the only one."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        calls = [one for one in source.every(ast.Call) if called(one) in kinds] if source else []
        here = [one for one in calls if place and place.file == script.file]
        found = [one for one in here if place and one.lineno == place.line] if place else calls
        if source and len(found) == 1 and is_time_first(source, found[0]):
            return source, found[0]
    return None, None


def made_by(operation: Operation, seen: Recording) -> tuple[Source | None, ast.Call | None]:
    """The call that makes the layer which a line runs."""
    source = seen.source(operation.place)
    line = operation.place.line if operation.place else None
    statement = source.statement_at(line) if source and line else None
    for call in ast.walk(statement) if source and statement else ():
        if not isinstance(call, ast.Call) or source is None:
            continue
        made = set_on_self(source, call.func) if isinstance(call.func, ast.Attribute) else None
        made = source.value_of(call.func) if isinstance(call.func, ast.Name) else made
        if isinstance(made, ast.Call) and called(made) in RECURRENT_LAYERS:
            return (source, made) if is_time_first(source, made) else (None, None)
    return None, None


def layer_place(crash: Crash) -> Place | None:
    return crash.layer.made_at if crash.layer else None


def frame_with(crash: Crash, function: str) -> Frame | None:
    return next((one for one in reversed(crash.frames) if one.function == function), None)


def value_in(frame: Frame | None, text: str) -> Value | None:
    return next((one for one in frame.values if one.text == text), None) if frame else None
