"""Graphs that operations record, and what `backward` does with them."""

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from surefit.evidence.imagined.mishaps import (
    Freed,
    IdleOptimizer,
    NoGraph,
    NoScalar,
    Overwritten,
    TwoDevices,
)
from surefit.evidence.imagined.shapes import Shape
from surefit.evidence.imagined.state import Trails
from surefit.evidence.imagined.values import (
    Cut,
    Device,
    Known,
    Layer,
    Optimizer,
    Part,
    Tensor,
)

if TYPE_CHECKING:
    from surefit.evidence.imagined.given import Given
    from surefit.evidence.imagined.running import Run

Recording = tuple[bool | None, ast.AST | None, ast.AST | None]

OFF = ("torch.no_grad", "torch.autograd.no_grad", "torch.autograd.grad_mode.no_grad")
INFERENCE = ("torch.inference_mode", "torch.autograd.inference_mode")
ON = ("torch.enable_grad", "torch.autograd.enable_grad")
CHOSEN = ("torch.set_grad_enabled", "torch.autograd.set_grad_enabled")
KEEPS_WEIGHTS = ("Linear", "Conv1d", "Conv2d", "Conv3d")


class Graphs:
    """Whether operations are being recorded, and what `backward` has freed."""

    def __init__(self, trails: Trails) -> None:
        self.trails = trails
        self.freed: dict[Any, Any] = {}
        self.reached: dict[Layer, bool] = {}
        """Layers that some `backward` has gone through."""
        self.lost = False
        """Some `backward` could not be followed: which weights have gradients is not known."""
        self.begin()

    def begin(self) -> None:
        self.recording: bool | None = True
        self.by: ast.AST | None = None
        self.inference: ast.AST | None = None

    def now(self) -> Recording:
        return self.recording, self.by, self.inference

    def back_to(self, then: Recording) -> None:
        self.recording, self.by, self.inference = then

    def unknown(self) -> None:
        self.recording, self.by = None, None

    def enter(self, name: str, mode: Any, node: ast.AST) -> bool:
        """A context or decorator by its name; False where it is none of those that are known."""
        if name in OFF:
            self.recording, self.by = False, node
        elif name in INFERENCE:
            on = True if mode is None else (mode.value if isinstance(mode, Known) else None)
            if on is None:
                self.unknown()
            elif on:
                self.recording, self.by, self.inference = False, node, node
        elif name in ON:
            self.recording, self.by = True, None
        elif name in CHOSEN:
            known = isinstance(mode, Known) and isinstance(mode.value, bool)
            self.recording = mode.value if known else None
            self.by = node if self.recording is False else None
        else:
            return False
        return True


def derived(
    run: "Run",
    node: ast.AST,
    shape: Shape,
    inputs: Sequence[Tensor],
    dtype: str | None,
    *,
    layer: Layer | None = None,
    keeps: bool = True,
    keeps_result: bool = False,
    nodes: Sequence[ast.AST | None] = (),
) -> Tensor:
    """What an operation on tensors, and a layer's weights, gives."""
    devices = devices_of(inputs, layer)
    if nodes:
        look_for_two_devices(run, node, inputs, nodes, layer)
    result = Tensor(
        shape,
        dtype,
        made=node,
        inference=run.graphs.inference,
        by=layer,
        state={"version": 0, "device": devices.pop() if len(devices) == 1 else None},
    )
    recorded(run, node, result, inputs, layer, keeps, keeps_result)
    return result


def recorded(
    run: "Run",
    node: ast.AST,
    result: Tensor,
    inputs: Sequence[Tensor],
    layer: Layer | None,
    keeps: bool,
    keeps_result: bool,
) -> None:
    graphs = [graph_of(one) for one in inputs]
    result.unsure = None in graphs or any(one.unsure for one in inputs)
    learns = layer.state["trainable"] if layer is not None and has_weights(layer) else False
    graphs.append(learns)
    recording = run.graphs.recording
    if recording is False:
        result.graph = False
        by = run.graphs.by
        if True in graphs and by is not None:
            result.cut = Cut("recording", by, node)
        else:
            result.cut = first_cut(inputs)
        return
    if True in graphs:
        result.graph = recording
    elif None in graphs:
        result.graph = None
    else:
        result.graph = False
        result.cut = first_cut(inputs)
        if result.cut is None and layer is not None and has_weights(layer) and learns is False:
            result.cut = Cut("frozen", layer.state.get("frozen_by") or layer.node, node)
    if result.graph:
        parts: frozenset[Part] = frozenset().union(*(one.parts for one in inputs if graph_of(one)))
        if keeps:
            part = Part(node, run.moment, run.way_to(node), layer)
            if layer is not None and layer.kind in KEEPS_WEIGHTS and graph_of(inputs[0]):
                part.keeps_weights, part.version = True, layer.state["version"]
            if keeps_result:
                part.kept = result
            parts |= {part}
        result.parts = parts


def graph_of(tensor: Tensor) -> bool | None:
    """Whether it has a graph; one that had none may have got one since, by `requires_grad_` or by
    what was written into it."""
    if tensor.state.get("switched"):
        return None
    return None if tensor.state.get("asked") and tensor.graph is False else tensor.graph


def touched(run: "Run", tensor: Tensor) -> None:
    """Something of which not all is known was written into it, or into a view of it."""
    here: Any = tensor
    while isinstance(here, Tensor):
        run.set(here.state, "asked", True)
        here.low = here.high = None
        here = here.state.get("base")


def first_cut(inputs: Iterable[Tensor]) -> Cut | None:
    cuts = [one.cut for one in inputs if one.cut is not None]
    best = [one for one in cuts if one.how != "frozen"]
    return next(iter(best or cuts), None)


def has_weights(layer: Layer) -> bool:
    from surefit.evidence.imagined.layer_kinds import WITH_WEIGHTS

    return layer.kind in WITH_WEIGHTS


def devices_of(inputs: Sequence[Tensor], layer: Layer | None) -> set[Any]:
    found = {one.state.get("device") for one in inputs if one.shape.rank != 0}
    if layer is not None and has_weights(layer):
        found.add(layer.state["device"])
    if not found:
        found = {one.state.get("device") for one in inputs}
    return found


def look_for_two_devices(
    run: "Run",
    node: ast.AST,
    inputs: Sequence[Tensor],
    nodes: Sequence[ast.AST | None],
    layer: Layer | None,
) -> None:
    places = [one.state.get("device") for one in inputs]
    if layer is not None and has_weights(layer):
        places.append(layer.state["device"])
    moved = next((one for one in places if isinstance(one, Device)), None)
    if moved is None:
        return
    for one, where in zip(inputs, nodes, strict=False):
        rank = one.shape.rank
        if one.state.get("device") == "cpu" and rank is not None and rank > 0 and where is not None:
            run.mishap(TwoDevices(node, one, where, moved.text))
            return


def cut_off(_run: "Run", tensor: Tensor, node: ast.AST, shape: Shape, dtype: str | None) -> Tensor:
    """The value of a tensor without its graph."""
    cut = Cut("value", node, node) if graph_of(tensor) else tensor.cut
    state = {"version": 0, "device": tensor.state.get("device")}
    return Tensor(shape, dtype, graph=False, cut=cut, made=node, by=tensor.by, state=state)


def backward(run: "Run", tensor: Tensor, given: "Given", node: ast.Call) -> None:
    gradient = given.get("gradient", 0, Known(None))
    run.graphs.lost = run.graphs.lost or tensor.unsure or graph_of(tensor) is None
    if graph_of(tensor) is False and not tensor.leaf:
        run.mishap(NoGraph(node, tensor))
        return
    if graph_of(tensor) is not True:
        return
    if isinstance(gradient, Known) and gradient.value is None and is_several(tensor):
        run.mishap(NoScalar(node, tensor))
        return
    if look_for_freed(run, tensor, node) or look_for_overwritten(run, tensor, node):
        return
    create = given.flag("create_graph", 2, False)
    retain = given.flag("retain_graph", 1, False)
    for part in tensor.parts:
        if retain is False and create is False:
            run.set(run.graphs.freed, (id(part), part), (node, run.moment, tensor))
        if part.layer is not None and part.layer.state["trainable"] is True:
            run.set(part.layer.state, "gradient", True)
            run.graphs.reached[part.layer] = True


def is_several(tensor: Tensor) -> bool:
    elements = tensor.shape.elements
    if elements is not None:
        return elements > 1
    if tensor.unreduced is not None:
        return True
    known = [one for one in tensor.shape.sizes if isinstance(one, int)]
    return any(one > 1 for one in known)


def look_for_freed(run: "Run", tensor: Tensor, node: ast.Call) -> bool:
    freed = [
        (part, run.graphs.freed[(id(part), part)])
        for part in tensor.parts
        if (id(part), part) in run.graphs.freed
    ]
    if not freed:
        return False
    freed.sort(key=lambda one: (one[0].node.lineno, one[0].node.col_offset))  # type: ignore[attr-defined]
    fresh = any(part.moment == run.moment for part in tensor.parts)
    part, (by, moment, before) = freed[-1]
    if moment == run.moment or not fresh:
        how = "twice"
    elif run.moment[: len(part.moment)] == part.moment:
        how = "before"
    else:
        how = "carried"
    run.mishap(Freed(node, part, by, how, before is tensor, run.way_to(node)))
    return True


def look_for_overwritten(run: "Run", tensor: Tensor, node: ast.Call) -> bool:
    for part in sorted(tensor.parts, key=lambda one: getattr(one.node, "lineno", 0)):
        layer = part.layer
        if layer is not None and part.keeps_weights and layer.state["version"] > part.version:
            written = layer.state.get("written")
            if written is not None:
                run.mishap(Overwritten(node, part, written, "step", part.moment != run.moment))
                return True
        if part.kept is not None and part.kept.state["version"] > part.kept_version:
            written = part.kept.state.get("written")
            if written is not None:
                run.mishap(Overwritten(node, part, written, "write", part.moment != run.moment))
                return True
    return False


def look_for_idle(run: "Run", optimizer: Optimizer, holders: Sequence[Any], node: ast.AST) -> None:
    """None of its layers has a gradient, and those that have one belong to no optimizer."""
    layers = [one for one in holders if isinstance(one, Layer) and has_weights(one)]
    known = [one.groups for one in run.optimizers]
    if run.graphs.lost or not layers or any(isinstance(one, Tensor) for one in holders):
        return
    if any(one.state["gradient"] is not False for one in layers) or None in known:
        return
    held = [one for groups in known for group in groups or () for one in group.of or ()]
    outside = tuple(one for one in run.graphs.reached if not any(one is each for each in held))
    if outside and len(outside) == len(run.graphs.reached):
        run.mishap(IdleOptimizer(node, optimizer.node, outside))


def stepped(run: "Run", holders: Iterable[Any], node: ast.AST) -> None:
    """An optimizer writes into the weights that have a gradient."""
    for one in holders:
        if isinstance(one, Layer) and one.state["gradient"] is True:
            run.set(one.state, "version", one.state["version"] + 1)
            run.set(one.state, "written", node)
