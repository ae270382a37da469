"""Layers that take a certain number of axes, and an input that has more or fewer."""

from dataclasses import dataclass

from surefit.doctor.observations import Crash, Frame, Layer, Value
from surefit.evidence.misfits import CHANNELS, STATE, first_tensor, misfit_of

SEQUENCES = "rows, steps and features"
TAKES: dict[str, tuple[tuple[int, ...], str]] = {
    "Conv1d": ((2, 3), "rows, channels and steps"),
    "Conv2d": ((3, 4), "rows, channels, height and width"),
    "Conv3d": ((4, 5), "rows, channels, depth, height and width"),
    "ConvTranspose1d": ((2, 3), "rows, channels and steps"),
    "ConvTranspose2d": ((3, 4), "rows, channels, height and width"),
    "BatchNorm1d": ((2, 3), "rows and features, with or without steps behind"),
    "BatchNorm2d": ((4,), "rows, channels, height and width"),
    "BatchNorm3d": ((5,), "rows, channels, depth, height and width"),
    "InstanceNorm1d": ((2, 3), "rows, channels and steps"),
    "InstanceNorm2d": ((3, 4), "rows, channels, height and width"),
    "LSTM": ((2, 3), SEQUENCES),
    "GRU": ((2, 3), SEQUENCES),
    "RNN": ((2, 3), SEQUENCES),
    "LSTMCell": ((1, 2), "rows and features"),
    "GRUCell": ((1, 2), "rows and features"),
    "RNNCell": ((1, 2), "rows and features"),
    "MultiheadAttention": ((2, 3), SEQUENCES),
    "MaxPool1d": ((2, 3), "rows, channels and steps"),
    "AvgPool1d": ((2, 3), "rows, channels and steps"),
    "AdaptiveAvgPool1d": ((2, 3), "rows, channels and steps"),
    "AdaptiveMaxPool1d": ((2, 3), "rows, channels and steps"),
    "MaxPool2d": ((3, 4), "rows, channels, height and width"),
    "AvgPool2d": ((3, 4), "rows, channels, height and width"),
    "AdaptiveAvgPool2d": ((3, 4), "rows, channels, height and width"),
    "AdaptiveMaxPool2d": ((3, 4), "rows, channels, height and width"),
}
"""Numbers of axes, one less for a single row where the layer takes that; the full one in words."""

ARGUMENTS = {
    "inputs_embeds": (3, SEQUENCES),
    "pixel_values": (4, "rows, channels, height and width"),
    "input_features": (3, "rows, features and steps"),
}
"""What every model of transformers takes under a name."""


@dataclass(frozen=True, slots=True)
class AxesMisfit:
    """A layer, and what it was given with another number of axes."""

    layer: Layer
    given: Value
    shape: tuple[int, ...]
    axes: int
    """With rows."""
    words: str
    frame: int
    """Number of the frame in which `given` has its name."""
    argument: str = ""
    """The name that a model of a library has for it."""
    or_less: bool = False
    """One axis less would do as well, for whole batches."""

    @property
    def missing(self) -> int:
        """Negative where there are too many."""
        least = self.axes - 1 if self.or_less else self.axes
        return (least if len(self.shape) < least else self.axes) - len(self.shape)


def axes_misfit_of(crash: Crash) -> AxesMisfit | None:
    """Of the innermost layer that was being run; or of a model that takes embeddings."""
    for number, frame in reversed(list(enumerate(crash.frames))):
        if frame.layer is not None and STATE not in frame.arguments:
            return of_layer(number, frame, frame.layer) or of_model(crash)
    return None


def of_layer(number: int, frame: Frame, layer: Layer) -> AxesMisfit | None:
    given = first_tensor(frame)
    if layer.kind not in TAKES or layer.own or given is None or not given.shape:
        return None
    taken, words = TAKES[layer.kind]
    if len(given.shape) in taken:
        return None
    return AxesMisfit(
        layer, given, given.shape, taken[-1], words, number, or_less=layer.kind == "BatchNorm1d"
    )


def read_as_one_row(crash: Crash) -> AxesMisfit | None:
    """A convolution that takes single rows, too, and took a batch that lacks an axis for one."""
    misfit = misfit_of(crash)
    sides = CHANNELS.get(misfit.layer.kind, 0) if misfit else 0
    if misfit is None or not sides or len(misfit.shape) != sides + 1:
        return None
    _, words = TAKES.get(misfit.layer.kind, ((), ""))
    return AxesMisfit(misfit.layer, misfit.given, misfit.shape, sides + 2, words, misfit.frame)


def of_model(crash: Crash) -> AxesMisfit | None:
    """By the name that a library's own `forward` has for the argument, outermost first."""
    for number, frame in enumerate(crash.frames):
        if frame.own or frame.layer is None or "transformers/" not in frame.place.file:
            continue
        for text, (axes, words) in ARGUMENTS.items():
            given = next((one for one in frame.values if one.text == text and one.shape), None)
            if given is None or text not in frame.arguments or given.shape is None:
                continue
            if len(given.shape) == axes:
                return None
            return AxesMisfit(frame.layer, given, given.shape, axes, words, number, text)
    return None
