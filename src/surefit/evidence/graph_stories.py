"""The graph of a failed backward pass: as the crash left it, as a second run saw it made."""

from dataclasses import dataclass

import msgspec

from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Question
from surefit.doctor.recording import Recording

OF_GRAPH = "story-of-graph"
AS_LEFT = "backward-graph"


@dataclass(frozen=True, slots=True)
class Root:
    """A tensor that `backward` was called on."""

    shape: tuple[int, ...]
    dtype: str
    grad: bool
    """It has a graph, or is a leaf that wants a gradient."""
    function: str = ""


@dataclass(frozen=True, slots=True)
class ChangedValue:
    """A value that a function keeps for backward, and that was written to since."""

    function: str
    attribute: str
    shape: tuple[int, ...]
    version: int


@dataclass(frozen=True, slots=True)
class GraphLeft:
    """What the frozen frames show."""

    roots: tuple[Root, ...]
    nodes: int
    freed: int
    """Functions whose kept values are gone; `kept`: those that still have them."""
    kept: int
    changed: tuple[ChangedValue, ...] = ()


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
    function: str
    file: str
    base: str
    container: str = ""
    owner: str = ""
    attribute: str = ""


@dataclass(frozen=True, slots=True)
class Joint:
    """Where a graph enters one that an earlier backward pass has used up."""

    function: str
    made: tuple[Stood, ...]
    """The stack that made the older function, outermost first; `taken`: that of the newer one."""
    taken: tuple[Stood, ...]
    freed: bool
    step: int | None
    """Optimizer steps before the earlier backward pass."""
    backward: tuple[Stood, ...]
    names: tuple[HolderSeen, ...] = ()
    """Of its result when the earlier pass ended; `names_now`: when the later one failed."""
    names_now: tuple[HolderSeen, ...] = ()
    parameters: tuple[str, ...] = ()
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


@dataclass(frozen=True, slots=True)
class Change:
    """An operation that wrote into a tensor."""

    name: str
    number: int
    stack: tuple[Stood, ...]
    library: str = ""
    """`Adam.step`, where an optimizer did it."""


@dataclass(frozen=True, slots=True)
class Overwritten:
    """A value that backward needs and that was written to, with what wrote to it, oldest first."""

    function: str
    attribute: str
    shape: tuple[int, ...]
    leaf: bool
    made: tuple[Stood, ...]
    names: tuple[HolderSeen, ...] = ()
    changes: tuple[Change, ...] = ()
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
    """Uses of parameters that want no gradient, on the way to the loss."""
    fresh: tuple[Cut, ...] = ()
    """Operations that took no tensor: the loss, or a part of it, was made from plain numbers."""
    numbers: tuple[Cut, ...] = ()
    """Where the loss's own number was read from a tensor with a graph."""
    operations: int = 0


@dataclass(frozen=True, slots=True)
class GraphStory:
    """What a second run saw."""

    here: tuple[Stood, ...]
    """The user's lines down to the backward pass that fails, outermost first."""
    step: int
    joints: tuple[Joint, ...] = ()
    changed: tuple[Overwritten, ...] = ()
    lost: LostGraph | None = None
    optimized: tuple[int, ...] = ()
    """Parameters that optimizers hold, and how many of these want a gradient."""


def graph_left(seen: Recording, crash: Crash) -> GraphLeft | None:
    """None where no backward pass failed, or nothing of it could be read."""
    if not is_in_backward(crash):
        return None
    said = seen.ask(Question(AS_LEFT, crash.id))
    return msgspec.convert(said, GraphLeft, strict=False) if said is not None else None


def is_in_backward(crash: Crash) -> bool:
    return crash.in_backward and not crash.compiled


def graph_story(seen: Recording, crash: Crash) -> GraphStory | None:
    """None as long as no second run has told it."""
    said = seen.ask(Question(OF_GRAPH, crash.id))
    return msgspec.convert(said, GraphStory, strict=False) if said is not None else None


def story_of_used_up_graph(seen: Recording, crash: Crash) -> GraphStory | None:
    """Where everything that the graph kept is gone, as after a backward pass that ran through."""
    left = graph_left(seen, crash)
    if left is None or not left.freed or left.kept or left.changed:
        return None
    story = graph_story(seen, crash)
    return story if story and any(one.freed for one in story.joints) else None


def story_of_overwritten_graph(seen: Recording, crash: Crash) -> GraphStory | None:
    """Where something that the graph kept was written to afterwards."""
    left = graph_left(seen, crash)
    if left is None or not left.changed:
        return None
    story = graph_story(seen, crash)
    return story if story and any(one.changes for one in story.changed) else None


def by_an_optimizer(story: GraphStory) -> bool:
    """What was written to are parameters, by a step."""
    writers = [one.changes[0] for one in story.changed if one.changes]
    return bool(writers) and all(one.library for one in writers)


def story_of_lost_graph(seen: Recording, crash: Crash) -> GraphStory | None:
    """Where `backward` was called on a tensor without a graph."""
    left = graph_left(seen, crash)
    if left is None or all(root.grad for root in left.roots):
        return None
    story = graph_story(seen, crash)
    return story if story and story.lost is not None else None
