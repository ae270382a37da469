"""In which mode models were called, and whether they learned by it."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import CallSite, Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerModes:
    """Layers of a model whose mode matters, as they were from an optimizer step on."""

    step: int = 0
    calls: int = 0
    """Of its site, before."""
    dropouts: int = 0
    """Dropout layers with p > 0 in training mode; `dropouts_off` are those in evaluation mode that
    stand among parameters which learn."""
    dropouts_off: int = 0
    norms: int = 0
    """Batch norms in training mode; `norms_off` as above."""
    norms_off: int = 0
    rates: tuple[float, ...] = ()
    parts_off: tuple[str, ...] = ()
    """Outermost modules in evaluation mode that have such dropouts inside; the model itself is an
    empty name."""
    readers: tuple[str, ...] = ()
    """Classes of the user's whose `forward` asks for `self.training`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalls:
    """Calls of one model from one line, in one mode."""

    kind: str
    serial: int
    made_at: Place | None
    site: CallSite | None
    training: bool
    grad: bool
    calls: int
    followed: int
    """Calls of which it is known whether a backward pass went through them; `learned`, where one
    did."""
    learned: int
    first_step: int
    last_step: int
    looks: tuple[LayerModes, ...] = ()
    """Each time that they differ from the time before."""
    repeated: int = 0
    """Calls with the very input of the call before, as in sampling with dropout."""
    as_trained: int = 0
    """Calls with the very input of a call in training."""
    drawn: int = 0
    """Calls in which a dropout that is a function, and no layer, was active."""
    changed: tuple[str, ...] = ()
    """Running statistics that a call in evaluation mode changed."""
    trainable: bool = True
    """Some parameter requires a gradient."""
    caller: CallSite | None = None
    """The user's call of the function that the line is in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeSet:
    """Calls of `train()` or `eval()` on one module, from one line."""

    kind: str
    serial: int
    path: str
    """Seen from the model that was called; empty for that itself."""
    training: bool
    place: Place | None
    times: int
    first_step: int
    last_step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SteppedInMode:
    """Optimizer steps on the parameters of a model, by the mode of the calls that it learned by."""

    serial: int
    training: int = 0
    """Steps with a call in training mode among them."""
    evaluating: int = 0
    first_training: int | None = None
    first_evaluating: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropoutCall:
    """A dropout that was active while the model was in evaluation mode."""

    place: Place | None
    function: str
    layer: str
    """Class of the layer that called it; empty for a call of the user's own."""
    registered: bool
    """The layer is a registered part of the model."""
    asked: bool
    """`training=True` was written down: it is meant."""
    rate: float
    times: int
    made_at: Place | None = None
    """Of the layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes(Measure):
    """Of all models of a process."""

    steps: int = 0
    calls: tuple[ModelCalls, ...] = ()
    switches: tuple[ModeSet, ...] = ()
    stepped: tuple[SteppedInMode, ...] = ()
    dropouts: tuple[DropoutCall, ...] = ()
    backward_at: tuple[Place, ...] = ()
    """The user's lines that called `backward`."""
