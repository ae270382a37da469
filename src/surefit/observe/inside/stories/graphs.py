"""How a graph that a backward pass failed on came to be, from a second run.

Torch's anomaly mode notes for every function of a graph the stack that it was made by. Each
backward pass marks the functions that it passes, and the names that tensors have at its end.
"""

import inspect
import itertools
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import wraps
from types import FrameType
from typing import Any

from surefit.doctor.graph_stories import (
    GraphStory,
    HolderSeen,
    Joint,
    OverwrittenValue,
    Stood,
    Write,
)
from surefit.doctor.observations import Json
from surefit.observe.inside import origins
from surefit.observe.inside.autopsy.graphs import (
    changed_since,
    is_freed,
    is_leaf,
    nodes_below,
    roots_in,
)
from surefit.observe.inside.autopsy.holders import held, held_by
from surefit.observe.inside.autopsy.values import is_module, is_tensor, untouched
from surefit.observe.inside.own_code import is_own
from surefit.observe.inside.spool import guarded
from surefit.observe.inside.stories.lost_graphs import LostGraphs
from surefit.observe.inside.stories.recorder import READING, name_of, operation_mode, tensors_in

OF_GRAPH = "story-of-graph"
MARK = "surefit"
MOST_JOINTS = 12
MOST_CALLS = 8
"""Backward passes whose names are remembered."""
MOST_CHANGES = 200_000
"""Tensors that were written to; of each the last writings, so many:"""
MOST_KEPT = 64
VIEWS = ("Unbind", "Select", "Slice", "Index", "View", "Unsqueeze", "Squeeze", "Split", "AsStrided")
LINE = re.compile(r'File "(.+?)", line (\d+), in (.+)')


@dataclass(frozen=True, slots=True)
class Pass:
    """A backward pass that ran to its end."""

    number: int
    step: int
    stack: tuple[Stood, ...]
    retained: bool
    made_until: int
    """Functions of graphs are numbered as they are made; those with a lower number came before."""
    names: tuple[tuple[Any, HolderSeen], ...]
    """Functions of graphs, and names of tensors that they made."""
    roots: tuple[Any, ...] = ()


class Graphs:
    """Backward passes so far, and what was written to in place."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.steps = 0
        self.count = 0
        self.passes: dict[int, Pass] = {}
        self.changes: dict[int, list[tuple[int, Write]]] = {}
        self.lost = LostGraphs(torch)
        self.ended: dict[tuple[Stood, ...], int] = {}
        """By the lines that led to a backward pass: what had been made when the last one ended."""
        self.stepped: list[Any] = []
        """Optimizers, in the order of their steps."""
        torch.autograd.set_detect_anomaly(True, check_nan=False)

    def passed(self, tensors: Any, retained: bool) -> None:
        """A backward pass has ended well."""
        every = tensors if isinstance(tensors, list | tuple) else [tensors]
        roots = [one.grad_fn for one in every if is_tensor(one)]
        self.count += 1
        frames = list(own_frames(sys._getframe(1)))
        with untouched():
            for node in nodes_below(roots):
                if not is_leaf(node):
                    node.metadata[MARK] = (self.count, retained)
            names = tuple(
                (one.grad_fn, holder)
                for holder, one in itertools.chain(held(frames), held_by(modules()))
                if one.grad_fn is not None
            )
        stack = tuple(stood(frame) for frame in reversed(frames))
        number = next_number()
        done = Pass(self.count, self.steps, stack, retained, number, names, tuple(roots))
        self.passes[self.count] = done
        self.ended[stack] = number
        self.passes.pop(self.count - MOST_CALLS, None)

    def changed(self, name: str, tensor: Any) -> None:
        """An operation has written into this tensor."""
        if len(self.changes) > MOST_CHANGES or tensor.is_meta:
            return
        frames = list(own_frames(sys._getframe(2)))
        stack = tuple(stood(frame) for frame in reversed(frames))
        write = Write(name, stack, stepped_by(sys._getframe(2)))
        known = self.changes.setdefault(storage(tensor), [])
        known.append((next_number(), write))
        del known[:-MOST_KEPT]

    def story(self, frames: Sequence[FrameType]) -> dict[str, Json] | None:
        roots = roots_in(frames)
        if not roots:
            return None
        nodes = [one.grad_fn for one in roots]
        every = [node for node in nodes_below(nodes) if not is_leaf(node)]
        lost = (self.lost.story(one) for one in roots if not one.requires_grad)
        joints = [self.joint(way, frames) for way in ways_to_marked(nodes)]
        story = GraphStory(
            here=here(frames),
            joints=tuple(joints[:MOST_JOINTS]),
            changed=tuple(itertools.islice(self.modified(every, frames), MOST_JOINTS)),
            lost=next(lost, None),
            optimized=optimized(),
        )
        return asdict(story)

    def story_of_leaf(self, loss: Any) -> dict[str, Json]:
        """Of a loss without a graph that requires grad itself."""
        return asdict(GraphStory(here=(), lost=self.lost.story(loss), optimized=optimized()))

    def joint(self, way: list[Any], frames: Sequence[FrameType]) -> Joint:
        """`way`: from the function that is used up back to the one that backward began at."""
        earlier = self.passes.get(way[0].metadata[MARK][0])
        older, newer = where_it_was_entered(way, earlier.made_until if earlier else 0)
        names = [holder for node, holder in earlier.names if node is older] if earlier else []
        leaves = [one.variable for one in nodes_below([older]) if is_leaf(one)]
        since = self.stepped[earlier.step :] if earlier else []
        before = users_of(older, earlier.roots) if earlier else []
        return Joint(
            made=made_by(older),
            origin=made_by(behind_views(older)),
            taken=made_by(newer) if newer is not None else (),
            freed=any(is_freed(node) for node in nodes_below([older]) if not is_leaf(node)),
            retained=way[0].metadata[MARK][1],
            step=earlier.step if earlier else None,
            repeated=older._sequence_nr() < self.ended.get(here(frames), 0),
            backward=earlier.stack if earlier else (),
            names=tuple(names),
            leaves=len(leaves),
            held=sum(any(holds(one, leaf) for one in optimizers()) for leaf in leaves),
            stepped=sum(any(holds(one, leaf) for one in since) for leaf in leaves),
            steps_since=len(since),
            entered=tuple(made_by(node) for node in before),
        )

    def modified(
        self, nodes: Iterable[Any], frames: Sequence[FrameType]
    ) -> Iterator[OverwrittenValue]:
        for node in nodes:
            for _, tensor in changed_since(node):
                kept, number = storage(tensor), node._sequence_nr()
                names = [holder for holder, one in held(reversed(frames)) if storage(one) == kept]
                writes = [write for at, write in self.changes.get(kept, ()) if at > number]
                yield OverwrittenValue(
                    function=node.name(),
                    shape=tuple(int(size) for size in tensor.shape),
                    made=made_by(node),
                    names=tuple(names),
                    changes=tuple(writes[:MOST_JOINTS]),
                    parameters=tuple(parameter_names([tensor], frames)),
                    passes=sum(one > number for one in self.ended.values()),
                )


def ways_to_marked(roots: Iterable[Any]) -> Iterator[list[Any]]:
    """From each function that an earlier backward pass went through, and that no other such lies
    before, back to where this one began."""
    waiting = [one for one in roots if one is not None]
    above: dict[int, Any] = {id(one): None for one in waiting}
    for node in waiting:
        mark = None if is_leaf(node) else node.metadata.get(MARK)
        if mark is not None:
            way = [node]
            while above[id(way[-1])] is not None:
                way.append(above[id(way[-1])])
            yield way
            continue
        for below, _ in node.next_functions:
            if below is not None and id(below) not in above:
                above[id(below)] = node
                waiting.append(below)


def where_it_was_entered(way: list[Any], made_until: int) -> tuple[Any, Any]:
    """The last function on the way that was made before the earlier pass ended, and the first that
    was made after it: between them a tensor was carried on. Where all were made before it, the
    function that both passes share, and the one above it."""
    for older, newer in zip(way, [*way[1:], None], strict=True):
        if newer is None or newer._sequence_nr() >= made_until:
            return (older, newer) if newer is not None else (way[0], [*way[1:], None][0])
    return way[0], None


def next_number() -> int:
    """That the next function of a graph will get."""
    torch = sys.modules["torch"]
    return int(torch._C._autograd._get_sequence_nr())


def behind_views(node: Any) -> Any:
    """What computed the values that this function only picks out or puts in another shape."""
    while node.name().startswith(VIEWS) and node.next_functions:
        below = node.next_functions[0][0]
        if below is None or is_leaf(below):
            break
        node = below
    return node


def users_of(node: Any, roots: Iterable[Any]) -> list[Any]:
    """Functions of an earlier graph that took the result of this one."""
    found = [
        one for one in nodes_below(roots) if any(below is node for below, _ in one.next_functions)
    ]
    return found[:MOST_JOINTS]


def modules() -> Iterator[Any]:
    return origins.alive(sys.modules["torch"].nn.Module)


def optimizers() -> Iterator[Any]:
    module = sys.modules.get("torch.optim.optimizer")
    return origins.alive(module.Optimizer) if module else iter(())


def optimized() -> tuple[int, int]:
    """Parameters of all optimizers, and how many of them want a gradient."""
    every = [
        one for known in optimizers() for group in known.param_groups for one in group["params"]
    ]
    return len(every), sum(one.requires_grad for one in every)


def holds(optimizer: Any, tensor: Any) -> bool:
    return any(one is tensor for group in optimizer.param_groups for one in group["params"])


def parameter_names(tensors: Sequence[Any], frames: Sequence[FrameType]) -> list[str]:
    """As the outermost module in these frames that holds them, or what they view, calls them."""
    wanted = {storage(one) for one in tensors}
    found: dict[int, str] = {}
    for module in modules_in(frames):
        for name, one in module.named_parameters():
            if storage(one) in wanted:
                found.setdefault(id(one), name)
    return sorted(found.values())


def modules_in(frames: Sequence[FrameType]) -> Iterator[Any]:
    met: set[int] = set()
    values: list[Any] = []
    for frame in frames:
        if is_own(frame.f_code.co_filename):
            values += frame.f_locals.values()
    for value in values:
        inside = vars(value).values() if hasattr(value, "__dict__") else ()
        for one in (value, *inside):
            if is_module(one) and id(one) not in met:
                met.add(id(one))
                yield one


def storage(tensor: Any) -> int:
    """Views of one tensor have one."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return 0


def made_by(node: Any) -> tuple[Stood, ...]:
    """The user's lines that were being run when a function of a graph was made, outermost first."""
    lines = "\n".join(node.metadata.get("traceback_", ()))
    return tuple(
        Stood(os.path.abspath(file), int(line), name)
        for file, line, name in LINE.findall(lines)
        if is_own(file)
    )


def here(frames: Sequence[FrameType]) -> tuple[Stood, ...]:
    return tuple(stood(frame) for frame in frames if is_own(frame.f_code.co_filename))


def own_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Innermost first."""
    while frame is not None:
        if is_own(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


def stood(frame: FrameType) -> Stood:
    code = frame.f_code
    return Stood(os.path.abspath(code.co_filename), frame.f_lineno, code.co_name)


def stepped_by(frame: FrameType | None) -> str:
    """`SGD.step`, where an optimizer is at work."""
    while frame is not None and not is_own(frame.f_code.co_filename):
        name, file = frame.f_code.co_name, frame.f_code.co_filename.replace("\\", "/")
        if name == "step" and "optim" in file:
            return f"{type(frame.f_locals.get('self')).__name__}.step"
        frame = frame.f_back
    return ""


graphs: Graphs | None = None


def watch(torch: Any) -> Graphs:
    """From now on in this process."""
    global graphs
    graphs = Graphs(torch)
    for name in ("backward", "grad"):
        setattr(torch.autograd, name, noted(getattr(torch.autograd, name)))
    writing_mode(torch, graphs).__enter__()
    return graphs


def noted(plain: Any) -> Any:
    signature = inspect.signature(plain)

    @wraps(plain)
    def run(*args: Any, **kwargs: Any) -> Any:
        result = plain(*args, **kwargs)
        _passed(signature.bind(*args, **kwargs).arguments)
        return result

    return run


@guarded("a backward pass")
def _passed(given: dict[str, Any]) -> None:
    retain = given.get("retain_graph")
    retained = bool(given.get("create_graph") if retain is None else retain)
    if graphs is not None:
        graphs.passed(given.get("tensors", given.get("outputs")), retained)


def writing_mode(torch: Any, seen: Graphs) -> Any:
    """A mode that notes what writes into a tensor, by the version that torch counts."""
    note_changes = guarded("what was written in place")(seen.changed)
    note_lost = guarded("where a graph was lost")(seen.lost.note)

    def run(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name = name_of(func)
        before = [(given, version(given)) for given in tensors_in((args, kwargs))]
        result = func(*args, **kwargs)
        if name not in READING:
            note_lost(name, [given for given, _ in before], result, tensors_in(result))
        for given, then in before:
            if version(given) != then:
                note_changes(name, given)
        return result

    return operation_mode(torch, run)


def version(tensor: Any) -> int:
    """Inference tensors count none."""
    return -1 if tensor.is_inference() else int(tensor._version)
