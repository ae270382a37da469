"""Where in a backward pass a gradient became NaN or zero, or why none came, as a second run saw
it."""

from dataclasses import dataclass
from typing import ClassVar

from surefit.doctor.graph_stories import Stood


@dataclass(frozen=True, slots=True)
class TakenOperand:
    """A tensor or a number that an operation was given."""

    shape: tuple[int, ...] = ()
    least: float | None = None
    greatest: float | None = None
    """Of its finite elements."""
    zeros: int = 0


@dataclass(frozen=True, slots=True)
class ForwardValue:
    """What an operation of the forward pass gave; of something that none made, its name alone."""

    name: str
    """`sqrt`; `given` for a tensor that no operation made, `parameter` for a parameter."""
    stack: tuple[Stood, ...]
    """The user's lines that computed it, outermost first; of something given, that used it."""
    holder: str = ""
    """What the user's code calls a tensor that was given, or one with bad values that went in."""
    shape: tuple[int, ...] = ()
    bad: int = 0
    """Elements that are NaN or infinite."""
    elements: int = 0
    least: float | None = None
    greatest: float | None = None
    """Of what went into the operation, where that is a tensor of finite numbers."""
    operands: tuple[TakenOperand, ...] = ()
    """Where the result is not finite."""


@dataclass(frozen=True, slots=True)
class GradientBirth:
    """The first function of a backward pass that turned good gradients into bad ones."""

    probe: ClassVar[str] = "birth-of-gradient"

    function: str
    """As torch calls it: `SqrtBackward0`."""
    step: int
    passes: int
    """Backward passes before it."""
    operation: ForwardValue | None = None
    """The operation of the forward pass that it belongs to."""
    source: ForwardValue | None = None
    """Where the forward pass first had NaN (or infinity) on the way to that operation."""
    met: ForwardValue | None = None
    """Where that, if it has no graph, first went into the graph: `pred - target`."""
    behind: int = 0
    """Parameters behind the function; `reached`: parameters of the whole backward pass."""
    reached: int = 0
    loss: float | None = None


@dataclass(frozen=True, slots=True)
class ValueBirth:
    """The first operation that gave NaN or infinity on the way to what a crash refuses."""

    probe: ClassVar[str] = "birth-of-value"

    source: ForwardValue | None = None
    met: ForwardValue | None = None
    """Where that, if it has no graph, first went into the graph."""
    gradient: GradientBirth | None = None
    """Of weights that are NaN: the backward pass that brought it to them."""


@dataclass(frozen=True, slots=True)
class CutFromTheLoss:
    """An operation on the way to the loss whose result has no graph, though the parameters behind
    it require grad."""

    probe: ClassVar[str] = "cuts-of-loss"

    operation: ForwardValue | None = None
    enabled: bool = True
    """Graphs were being recorded."""
    names: tuple[str, ...] = ()
    """Of the parameters asked about: behind it."""
    beside: int = 0
    """How many of those asked about are not."""
