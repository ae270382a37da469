"""A layer, and an input of another width than the layer was made for."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from surefit.doctor.observations import Crash, Frame, Layer, Value
from surefit.doctor.recording import Recording
from surefit.evidence.frame_names import named
from surefit.source.reading import Source

LAST_AXIS = {
    "Linear": "in_features",
    "Conv1D": "nx",
    "LSTM": "input_size",
    "GRU": "input_size",
    "RNN": "input_size",
    "LSTMCell": "input_size",
    "GRUCell": "input_size",
    "RNNCell": "input_size",
    "MultiheadAttention": "embed_dim",
    "LayerNorm": "normalized_shape",
    "RMSNorm": "normalized_shape",
}
"""Layers whose declared width is that of the last axis, and the attribute that declares it."""

CHANNELS = {
    "Conv1d": 1,
    "Conv2d": 2,
    "Conv3d": 3,
    "ConvTranspose1d": 1,
    "ConvTranspose2d": 2,
    "ConvTranspose3d": 3,
}
"""Layers whose declared width is that of the channels, and how many axes follow that one."""

STATE = "expected_hidden_size"
"""An argument of the function in which recurrent layers look at their state, not at their input."""

NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d")
"""Their `num_features` is the size of axis 1."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Where a layer and its input disagree."""

    layer: Layer
    given: Value
    shape: tuple[int, ...]
    axis: int
    width: int
    """As declared."""
    frame: int
    """Number of the frame in which `given` has its name."""

    @property
    def size(self) -> int:
        """As given."""
        return self.shape[self.axis]

    @property
    def counts_channels(self) -> bool:
        return self.layer.kind in CHANNELS or self.layer.kind in NORMS


def misfit_of(crash: Crash) -> Misfit | None:
    """Of the innermost module that was being run, if it has a declared width."""
    for number, frame in reversed(list(enumerate(crash.frames))):
        if frame.layer is not None and STATE not in frame.arguments:
            return misfit_in(number, frame, frame.layer)
    return None


def misfit_in(number: int, frame: Frame, layer: Layer) -> Misfit | None:
    given = first_tensor(frame)
    width = layer.sizes.get(declared_by(layer.kind))
    if given is None or given.shape is None or width is None or is_over_several_axes(layer):
        return None
    axis = axis_of(layer.kind, given.shape)
    if axis is None or given.shape[axis] == width:
        return None
    return Misfit(layer, given, given.shape, axis, width, number)


def declared_by(kind: str) -> str:
    if kind in CHANNELS:
        return "in_channels"
    return "num_features" if kind in NORMS else LAST_AXIS.get(kind, "")


def axis_of(kind: str, shape: Sequence[int]) -> int | None:
    """Which axis of an input the declared width is about; rows without a batch have one less."""
    if kind in LAST_AXIS:
        return len(shape) - 1
    if kind in NORMS:
        return 1 if len(shape) > 1 else None
    axis = len(shape) - 1 - CHANNELS[kind]
    return axis if axis in (0, 1) else None


def is_over_several_axes(layer: Layer) -> bool:
    """A norm over several axes at once has no single width."""
    return layer.kind in ("LayerNorm", "RMSNorm") and len(layer.parameters.get("weight", ())) != 1


def first_tensor(frame: Frame) -> Value | None:
    """The first argument after `self` that is one."""
    values = {value.text: value for value in frame.values}
    given = (values[text] for text in frame.arguments[1:] if text in values)
    return next((value for value in given if value.shape), None)


def is_from_outside(crash: Crash, misfit: Misfit, seen: Recording) -> bool:
    """The input is what the model was given, untouched: the data, not the work of another layer."""
    modules = [at for at, frame in enumerate(crash.frames) if frame.layer is not None]
    for at, frame in enumerate(crash.frames):
        names = [text for text, one in named(frame) if one.identity == misfit.given.identity]
        if at < modules[0] and frame.own and names:
            return True
        if at in modules and frame.own:
            source = seen.source(frame.place)
            return any(is_as_given(name, frame, source) for name in names)
    return False


def is_as_given(name: str, frame: Frame, source: Source | None) -> bool:
    """An argument that the function binds to nothing else."""
    root = name.partition("[")[0]
    statement = source.statement_at(frame.place.line or 0) if source else None
    if source is None or statement is None or root not in frame.arguments:
        return False
    uses = [one for one in ast.walk(statement) if isinstance(one, ast.Name) and one.id == root]
    return bool(uses) and len(source.bound_by(uses[0])) == 1
