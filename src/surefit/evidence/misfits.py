"""A layer, and an input of another width than the layer was made for."""

from dataclasses import dataclass

from surefit.doctor.observations import Crash, Frame, Layer, Value
from surefit.laws.layer_tables import (
    CHANNELS,
    LAST_AXIS,
    NORMS,
    STATE,
    axis_of,
    declared_by,
    first_tensor,
)

__all__ = ["LAST_AXIS", "STATE", "Misfit", "first_tensor", "misfit_of"]


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


def is_over_several_axes(layer: Layer) -> bool:
    """A norm over several axes at once has no single width."""
    return layer.kind in ("LayerNorm", "RMSNorm") and len(layer.parameters.get("weight", ())) != 1
