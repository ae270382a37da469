"""A state that a recurrent layer refused, and where it came from."""

from dataclasses import dataclass

from surefit.doctor.observations import Crash, Layer, Operation, Value
from surefit.doctor.recording import Recording
from surefit.evidence.misfits import STATE
from surefit.evidence.value_stories import story_of_value, taken

RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell")
HANDED_ON = ("detach", "detach_", "clone", "contiguous", "to", "data", "requires_grad_")
ROWS = 1
"""The axis of a state that counts rows."""


@dataclass(frozen=True, slots=True)
class State:
    """What was given, and what the layer worked out from its input."""

    layer: Layer
    frame: int
    given: Value
    wanted: tuple[int, ...]
    input: tuple[int, ...]
    """Shape of the layer's input; empty where it could not be read."""

    @property
    def rows(self) -> int:
        return (self.given.shape or (0, 0))[ROWS]

    @property
    def wanted_rows(self) -> int:
        return self.wanted[ROWS]


def state_of(crash: Crash) -> State | None:
    """Of the innermost frame, where it differs from what was wanted in the number of rows alone."""
    frame = crash.frames[-1] if crash.frames else None
    if frame is None or STATE not in frame.arguments or frame.layer is None:
        return None
    values = {value.text: value for value in frame.values}
    given, wanted = values.get("hx"), values.get(STATE)
    sizes = [one.scalar for one in wanted.members.values()] if wanted else []
    shape = tuple(size for size in sizes if type(size) is int)
    if given is None or not given.shape or len(shape) != len(given.shape) or len(shape) <= ROWS:
        return None
    axes = [axis for axis, size in enumerate(shape) if size != given.shape[axis]]
    if axes != [ROWS]:
        return None
    return State(frame.layer, len(crash.frames) - 1, given, shape, input_of(crash))


def input_of(crash: Crash) -> tuple[int, ...]:
    for frame in reversed(crash.frames):
        if frame.layer is None:
            break
        for value in frame.values:
            if value.text == "input" and value.shape:
                return value.shape
    return ()


def came_from_a_layer(crash: Crash, state: State, seen: Recording) -> Operation | None:
    """The recurrent operation that gave the state out, by a second run."""
    story = story_of_value(seen, crash, state.frame, state.given.text)
    here = story[0] if story else None
    while here is not None:
        if here.name in RECURRENT:
            return here
        if here.name not in HANDED_ON:
            return None
        here = next(iter(taken(here, story)), None)
    return None
