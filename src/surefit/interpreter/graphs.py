"""Graphs that operations record."""

import ast
from collections.abc import Iterable, Sequence

from surefit.interpreter.contracts.mixed_operands import two_devices
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.layer_tables import has_weights
from surefit.interpreter.shapes import Shape
from surefit.interpreter.values import CPU, GraphCut, LayerValue, RecordedOperation, TensorValue

KEEPS_WEIGHTS = ("Linear", "Conv1d", "Conv2d", "Conv3d")


def operation_result(
    run: Evaluator,
    node: ast.AST,
    shape: Shape,
    inputs: Sequence[TensorValue],
    dtype: str | None,
    *,
    layer: LayerValue | None = None,
    keeps: bool = True,
    keeps_result: bool = False,
    nodes: Sequence[ast.AST | None] = (),
) -> TensorValue:
    """What an operation on tensors, and a layer's weights, gives."""
    weights = layer if layer is not None and has_weights(layer) else None
    devices = {tensor.device for tensor in inputs if tensor.shape.rank != 0}
    if weights is not None:
        devices.add(weights.device)
    devices = devices or {tensor.device for tensor in inputs}
    if nodes:
        check_devices(run, node, inputs, nodes, weights)
    result = TensorValue(
        shape,
        dtype,
        node=node,
        dtype_at=dtype_origin(inputs, dtype, weights) or node,
        inference=run.graphs.mode.inference,
        source_layer=layer,
        device=devices.pop() if len(devices) == 1 else None,
    )
    record_operation(run, node, result, inputs, weights)
    if result.graph and keeps:
        operation = RecordedOperation(node, run.moment, run.path_to(node), layer)
        if weights is not None and weights.kind in KEEPS_WEIGHTS and graph_of(inputs[0]):
            operation.keeps_weights, operation.version = True, weights.version
        if keeps_result:
            operation.result = result
        result.operations |= {operation}
    return result


def dtype_origin(
    inputs: Sequence[TensorValue], dtype: str | None, weights: LayerValue | None
) -> ast.AST | None:
    if weights is not None and weights.dtype == dtype:
        return weights.cast_at or weights.node
    return next((tensor.dtype_at for tensor in inputs if tensor.dtype == dtype), None)


def record_operation(
    run: Evaluator,
    node: ast.AST,
    result: TensorValue,
    inputs: Sequence[TensorValue],
    weights: LayerValue | None,
) -> None:
    graphs = [graph_of(tensor) for tensor in inputs]
    result.unsure = None in graphs or any(tensor.unsure for tensor in inputs)
    graphs.append(weights.trainable if weights is not None else False)
    mode = run.graphs.mode
    if mode.recording is False:
        result.graph = False
        if True in graphs and mode.switched_by is not None:
            result.cut = GraphCut("recording", mode.switched_by, node)
        else:
            result.cut = first_cut(inputs)
    elif True in graphs:
        result.graph = mode.recording
    elif None not in graphs:
        result.graph = False
        result.cut = first_cut(inputs)
        if result.cut is None and weights is not None:
            result.cut = GraphCut("frozen", weights.frozen_by or weights.node, node)
    if result.graph:
        before = (tensor.operations for tensor in inputs if graph_of(tensor))
        result.operations = frozenset().union(*before)


def graph_of(tensor: TensorValue) -> bool | None:
    """Whether it has a graph; one that had none may have got one since, by `requires_grad_` or by
    what was written into it."""
    if tensor.grad_switched:
        return None
    return None if tensor.modified and tensor.graph is False else tensor.graph


def first_cut(inputs: Iterable[TensorValue]) -> GraphCut | None:
    cuts = [tensor.cut for tensor in inputs if tensor.cut is not None]
    return min(cuts, key=lambda cut: cut.how == "frozen", default=None)


def without_graph(
    tensor: TensorValue, node: ast.AST, shape: Shape, dtype: str | None
) -> TensorValue:
    """The value of a tensor without its graph."""
    return TensorValue(
        shape,
        dtype,
        graph=False,
        cut=GraphCut("value", node, node) if graph_of(tensor) else tensor.cut,
        node=node,
        dtype_at=tensor.dtype_at if dtype == tensor.dtype else node,
        source_layer=tensor.source_layer,
        device=tensor.device,
    )


def check_devices(
    run: Evaluator,
    node: ast.AST,
    inputs: Sequence[TensorValue],
    nodes: Sequence[ast.AST | None],
    weights: LayerValue | None,
) -> None:
    devices = [tensor.device for tensor in inputs]
    if weights is not None:
        devices.append(weights.device)
    moved = next((device for device in devices if device not in (None, CPU)), None)
    if moved is None:
        return
    for tensor, where in zip(inputs, nodes, strict=False):
        if tensor.device == CPU and tensor.shape.rank and where is not None:
            run.report(two_devices, node, tensor.node or node, tensor, where, moved.text)
            return
