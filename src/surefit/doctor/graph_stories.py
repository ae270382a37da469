"""The graph of a failed backward pass: as the crash left it, as a second run saw it made."""

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from surefit.doctor.findings import Place
from surefit.doctor.observations import Json

DETACHING = ("detach", "data", "detach_")
COPYING = ("tensor", "as_tensor", "asarray")
TO_NUMBERS = ("item", "tolist", "numpy", "__float__", "__array__")
FROM_NUMBERS = ("from_numpy", "full", "scalar_tensor")
"""Operations whose result has no graph: the value alone, a copy, a number, a tensor of numbers."""


@dataclass(frozen=True, slots=True)
class BackwardRoot:
    """A tensor that `backward` was called on."""

    shape: tuple[int, ...]
    dtype: str
    grad: bool
    """It has a graph, or is a leaf that requires a gradient."""


@dataclass(frozen=True, slots=True)
class GraphLeft:
    """What the frames of the crash show."""

    probe: ClassVar[str] = "backward-graph"

    roots: tuple[BackwardRoot, ...]
    freed: int
    """Functions whose kept values are gone; `kept`: those that still have them."""
    kept: int
    changed: tuple[Json, ...] = ()
    """Values that a function keeps for backward, and that were written to since."""


@dataclass(frozen=True, slots=True)
class Stood:
    """A line of the user's on a stack."""

    file: str
    line: int
    function: str

    @property
    def place(self) -> Place:
        return Place(self.file, self.line)


@dataclass(frozen=True, slots=True)
class HolderSeen:
    """A name for a tensor in one of the user's frames."""

    text: str
    """As the frame can write it: `self.state[0]`."""
    function: str
    file: str
    base: str
    """Without subscripts: `self.state`."""
    container: str = ""
    """`tuple`, `list` or `dict`, where it lies in one."""
    owner: str = ""
    """Class of the object that has the attribute; empty for a local."""
    attribute: str = ""


class When(Enum):
    """When the used-up part of a graph was computed, seen from the backward pass that fails."""

    IN_AN_EARLIER_ROUND = "earlier round"
    IN_THIS_ROUND = "this round"
    BEFORE_THE_LOOP = "before the loop"


@dataclass(frozen=True, slots=True)
class Joint:
    """Where a graph enters one that an earlier backward pass has used up."""

    made: tuple[Stood, ...]
    """The stack that made the older function, outermost first; `taken`: that of the newer one."""
    taken: tuple[Stood, ...]
    freed: bool
    step: int | None
    """Optimizer steps before the earlier backward pass."""
    backward: tuple[Stood, ...]
    names: tuple[HolderSeen, ...] = ()
    """Of its result when the earlier pass ended."""
    origin: tuple[Stood, ...] = ()
    """The stack that computed its values, where `made` has only picked them out."""
    leaves: int = 0
    """Parameters and other leaves behind it; `held`: those that some optimizer holds; `stepped`:
    those of an optimizer that took a step since the earlier pass."""
    held: int = 0
    stepped: int = 0
    steps_since: int = 0
    retained: bool = False
    """The earlier pass kept it, by `retain_graph=True`."""
    repeated: bool = False
    """It was made before an earlier pass that came by the very same lines had ended."""
    entered: tuple[tuple[Stood, ...], ...] = ()
    """The stacks of the functions by which the earlier graph had entered it."""
    when: When | None = None
    """Of source that was only read."""


@dataclass(frozen=True, slots=True)
class Write:
    """An operation that wrote into a tensor."""

    name: str
    stack: tuple[Stood, ...]
    library: str = ""
    """`Adam.step`, where an optimizer did it."""


@dataclass(frozen=True, slots=True)
class OverwrittenValue:
    """A value that backward needs and that was written to, with what wrote to it, oldest first."""

    function: str
    shape: tuple[int, ...]
    made: tuple[Stood, ...]
    names: tuple[HolderSeen, ...] = ()
    changes: tuple[Write, ...] = ()
    parameters: tuple[str, ...] = ()
    passes: int = 0
    """Backward passes, by different lines, since it was kept."""


@dataclass(frozen=True, slots=True)
class Cut:
    """An operation whose result has no graph, though something that it took has one."""

    name: str
    stack: tuple[Stood, ...]
    enabled: bool
    inference: bool
    floating: bool
    checkpointed: tuple[Stood, ...] = ()
    """Inside reentrant checkpointing: the user's lines outside of it."""
    elements: int = 0


@dataclass(frozen=True, slots=True)
class LostGraph:
    """How a loss came to have no graph."""

    cuts: tuple[Cut, ...] = ()
    """Nearest to the loss first."""
    frozen: int = 0
    """Uses of parameters that require no gradient, on the way to the loss."""
    fresh: tuple[Cut, ...] = ()
    """Operations that took no tensor: the loss, or a part of it, was made from plain numbers."""
    numbers: tuple[Cut, ...] = ()
    """Where the loss's own number was read from a tensor with a graph."""
    operations: int = 0


@dataclass(frozen=True, slots=True)
class GraphStory:
    """What a second run saw."""

    probe: ClassVar[str] = "story-of-graph"

    here: tuple[Stood, ...]
    """The user's lines down to the backward pass that fails, outermost first."""
    joints: tuple[Joint, ...] = ()
    changed: tuple[OverwrittenValue, ...] = ()
    lost: LostGraph | None = None
    optimized: tuple[int, ...] = ()
    """Parameters that optimizers hold, and how many of these require a gradient."""

    @property
    def first_overwritten(self) -> OverwrittenValue | None:
        return next((value for value in self.changed if value.changes), None)

    @property
    def by_an_optimizer(self) -> bool:
        """What was written to are parameters, by a step."""
        writers = [value.changes[0] for value in self.changed if value.changes]
        return bool(writers) and all(writer.library for writer in writers)

    @property
    def held(self) -> tuple[int, int]:
        """Parameters that optimizers hold, and how many of these require a gradient."""
        return (self.optimized[0], self.optimized[1]) if len(self.optimized) == 2 else (0, 0)
