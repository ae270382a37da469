"""What layers of torch take and give: which argument declares a width, which axes an input has."""

from collections.abc import Sequence

from surefit.doctor.observations import Frame, Layer, Value

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

CHANNELS = {f"{kind}{sides}d": sides for kind in ("Conv", "ConvTranspose") for sides in (1, 2, 3)}
"""Layers whose declared width is that of the channels, and how many axes follow that one."""

NORMS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d")
"""Their `num_features` is the size of axis 1."""

STATE = "expected_hidden_size"
"""An argument of the function in which recurrent layers look at their state, not at their input."""

GIVES = (
    {"Linear": ("out_features", 1), "LazyLinear": ("out_features", 0)}
    | dict.fromkeys(CHANNELS, ("out_channels", 1))
    | dict.fromkeys(("Embedding", "EmbeddingBag"), ("embedding_dim", 1))
)
"""Layers -> the argument that is the width they give: its name and its position."""

SEQUENCES = "rows, steps and features"
MAPS = "rows, channels, height and width"
SIGNALS = "rows, channels and steps"
AXES: dict[str, tuple[tuple[int, ...], str]] = {
    "Conv1d": ((2, 3), SIGNALS),
    "Conv2d": ((3, 4), MAPS),
    "Conv3d": ((4, 5), "rows, channels, depth, height and width"),
    "ConvTranspose1d": ((2, 3), SIGNALS),
    "ConvTranspose2d": ((3, 4), MAPS),
    "BatchNorm1d": ((2, 3), "rows and features, with or without steps after them"),
    "BatchNorm2d": ((4,), MAPS),
    "BatchNorm3d": ((5,), "rows, channels, depth, height and width"),
    "InstanceNorm1d": ((2, 3), SIGNALS),
    "InstanceNorm2d": ((3, 4), MAPS),
    **dict.fromkeys(("LSTM", "GRU", "RNN", "MultiheadAttention"), ((2, 3), SEQUENCES)),
    **dict.fromkeys(("LSTMCell", "GRUCell", "RNNCell"), ((1, 2), "rows and features")),
    **dict.fromkeys(
        ("MaxPool1d", "AvgPool1d", "AdaptiveAvgPool1d", "AdaptiveMaxPool1d"), ((2, 3), SIGNALS)
    ),
    **dict.fromkeys(
        ("MaxPool2d", "AvgPool2d", "AdaptiveAvgPool2d", "AdaptiveMaxPool2d"), ((3, 4), MAPS)
    ),
}
"""Numbers of axes, one less for a single row where the layer takes that; the full one in words."""

ARGUMENTS = {
    "inputs_embeds": (3, SEQUENCES),
    "pixel_values": (4, MAPS),
    "input_features": (3, "rows, features and steps"),
}
"""What every model of transformers takes under a name."""


def declared_by(kind: str) -> str:
    """The attribute of a layer that declares what goes in."""
    if kind in CHANNELS:
        return "in_channels"
    return "num_features" if kind in NORMS else LAST_AXIS.get(kind, "")


def declared_width(layer: Layer) -> int | None:
    """None also for a norm over several axes at once, which has no single width."""
    several = layer.kind in ("LayerNorm", "RMSNorm")
    if several and len(layer.parameters.get("weight", ())) != 1:
        return None
    return layer.sizes.get(declared_by(layer.kind))


def axis_of(kind: str, shape: Sequence[int]) -> int | None:
    """Which axis of an input the declared width is about; rows without a batch have one less."""
    if kind in LAST_AXIS:
        return len(shape) - 1
    if kind in NORMS:
        return 1 if len(shape) > 1 else None
    axis = len(shape) - 1 - CHANNELS[kind]
    return axis if axis in (0, 1) else None


def first_tensor(frame: Frame) -> Value | None:
    """The first argument after `self` that is one."""
    values = {value.text: value for value in frame.values}
    arguments = (values[text] for text in frame.arguments[1:] if text in values)
    return next((value for value in arguments if value.shape), None)
