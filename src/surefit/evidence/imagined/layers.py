"""Layers of `torch.nn`: making them, and calling them."""

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from surefit.evidence.imagined import memory, operations
from surefit.evidence.imagined.given import Given
from surefit.evidence.imagined.graphs import derived, has_weights
from surefit.evidence.imagined.items import rounds_of
from surefit.evidence.imagined.layer_kinds import (
    ARGUMENTS,
    LOSSES,
    PLAIN,
    WITH_WEIGHTS,
    normalized,
    spread,
)
from surefit.evidence.imagined.mishaps import (
    DtypeMisfit,
    Indivisible,
    InferenceUsed,
    OutsideTable,
    WidthMisfit,
)
from surefit.evidence.imagined.shapes import ANY, MISFIT, Shape, Size, grown, windowed
from surefit.evidence.imagined.values import (
    UNKNOWN,
    Known,
    Layer,
    Listed,
    Mapped,
    Tensor,
    Unknown,
    listed,
    new_layer,
    whole,
)

if TYPE_CHECKING:
    from surefit.evidence.imagined.running import Run

DIVIDED = {
    "MultiheadAttention": (("embed_dim", "num_heads"),),
    "TransformerEncoderLayer": (("d_model", "nhead"),),
    "TransformerDecoderLayer": (("d_model", "nhead"),),
    "Transformer": (("d_model", "nhead"),),
    "GroupNorm": (("num_channels", "num_groups"),),
    "Conv1d": (("in_channels", "groups"), ("out_channels", "groups")),
    "Conv2d": (("in_channels", "groups"), ("out_channels", "groups")),
    "Conv3d": (("in_channels", "groups"), ("out_channels", "groups")),
}
KNOWN_KINDS = {*ARGUMENTS, *PLAIN}


def made_layer(run: "Run", kind: str, given: Given, node: ast.AST) -> Any:
    if kind in ("Sequential", "ModuleList", "ModuleDict"):
        return made_container(run, kind, given, node)
    if kind == "Parameter":
        return made_parameter(run, given, node)
    if kind not in KNOWN_KINDS or given.open:
        for one in given.all:
            run.escape(one)
        return UNKNOWN
    names = ARGUMENTS.get(kind, ())
    if len(given.plain) > len(names):
        return UNKNOWN if names else new_layer(kind, {}, node)
    settings = {**dict(zip(names, given.plain, strict=False)), **given.named}
    layer = new_layer(kind, settings, node, run.dtype, run.home)
    look_for_indivisible(run, layer, node)
    if kind == "DataParallel":
        inner = settings.get("module", UNKNOWN)
        layer.children["module"] = inner
    if kind == "TransformerEncoder" and not isinstance(settings.get("encoder_layer"), Layer):
        return UNKNOWN
    if "dtype" in settings or "device" in settings:
        layer.state["dtype"] = layer.state["device"] = None
    return layer


def made_container(run: "Run", kind: str, given: Given, node: ast.AST) -> Any:
    layer = new_layer(kind, {}, node)
    if given.open:
        return UNKNOWN
    plain = list(given.plain)
    if kind == "ModuleDict" or (plain and isinstance(plain[0], Mapped)):
        entries = plain[0].items if plain and isinstance(plain[0], Mapped) else None
        if entries is None:
            return UNKNOWN if plain else layer
        layer.children.update({str(key): one for key, one in entries.items()})
        return layer
    if kind == "ModuleList":
        rounds = rounds_of(run, plain[0]) if plain else None
        if rounds is not None and not rounds.all_known:
            return UNKNOWN
        plain = list(rounds.items) if rounds is not None else []
    if any(isinstance(one, Listed) for one in plain):
        return UNKNOWN
    layer.children.update({str(at): one for at, one in enumerate(plain)})
    return layer


def made_parameter(_run: "Run", given: Given, node: ast.AST) -> Any:
    inner = given.get("data", 0, UNKNOWN)
    learns = given.flag("requires_grad", 1, True)
    if not isinstance(inner, Tensor):
        return UNKNOWN
    made = Tensor(inner.shape, inner.dtype, graph=learns, leaf=learns is True, made=node)
    made.state.update(device=inner.state.get("device"), registered="parameter")
    return made


def look_for_indivisible(run: "Run", layer: Layer, node: ast.AST) -> None:
    for width_name, count_name in DIVIDED.get(layer.kind, ()):
        width, count = layer.given.get(width_name), layer.given.get(count_name)
        have, among = whole(width), whole(count)
        if have is None or not among or have % among == 0:
            continue
        assert isinstance(width, Known)
        assert isinstance(count, Known)
        run.mishap(Indivisible(node, layer.kind, width_name, width, count_name, count))


def layer_called(run: "Run", layer: Layer, given: Given, node: ast.AST) -> Any:
    if layer.state["escaped"] is not False:
        return UNKNOWN
    if layer.kind in ("Sequential", "DataParallel"):
        return run_through(run, layer, given, node)
    if layer.kind in LOSSES:
        return operations.loss(run, LOSSES[layer.kind], with_settings(layer, given), node, layer)
    if not given.plain:
        return UNKNOWN
    tensor = given.plain[0]
    if isinstance(tensor, Unknown):
        tensor = Tensor(ANY, made=None, graph=None)
        known = False
    else:
        known = isinstance(tensor, Tensor)
    if not isinstance(tensor, Tensor):
        return UNKNOWN
    if layer.kind in PLAIN:
        if layer.kind == "ReLU" and is_true(layer.given.get("inplace")):
            operations.written_in_place(run, tensor, node)
        return operations.same_shape(run, PLAIN[layer.kind], tensor, node) if known else UNKNOWN
    shape = shape_after(run, layer, tensor, given, node)
    if shape is None:
        return UNKNOWN
    look_at_input(run, layer, tensor, node)
    dtype = layer.state["dtype"] if has_weights(layer) else tensor.dtype
    if run.mixed is not False:
        dtype = None
    nodes = [given.nodes.get(0)]
    result = derived(run, node, shape, [tensor], dtype, layer=layer, nodes=nodes)
    if not has_weights(layer):
        result.by = tensor.by
        result.unreduced = tensor.unreduced
    if layer.kind in ("Linear", "Embedding"):
        result.strides = memory.in_order(shape)
    if layer.kind in ("LSTM", "GRU", "RNN"):
        return recurrent_result(run, layer, given, result, node)
    if layer.kind == "MultiheadAttention":
        return listed("tuple", (result, UNKNOWN))
    return result


def is_true(value: Any) -> bool:
    return isinstance(value, Known) and value.value is True


def with_settings(layer: Layer, given: Given) -> Given:
    """The arguments of a loss's function, from the layer and the call."""
    named = {key: value for key, value in layer.given.items() if key in ("reduction", "weight")}
    if any(key in layer.given for key in ("size_average", "reduce")):
        named["reduction"] = UNKNOWN
    return Given(given.plain, {**named, **given.named}, given.nodes, given.open)


def run_through(run: "Run", layer: Layer, given: Given, node: ast.AST) -> Any:
    current = anywhere(given) if layer.kind == "DataParallel" else given
    result: Any = UNKNOWN
    run.sites.append(node)
    for one in layer.children.values():
        place = one.node if isinstance(one, Layer) else node
        result = run.call(one, current, place)
        current = Given([result], {}, {0: place})
    run.sites.pop()
    return result


def anywhere(given: Given) -> Given:
    """What `DataParallel` is given it moves itself."""
    plain = [
        replace(one, state={**one.state, "device": None}) if isinstance(one, Tensor) else one
        for one in given.plain
    ]
    return Given(plain, given.named, given.nodes, given.open)


def shape_after(
    run: "Run", layer: Layer, tensor: Tensor, _given: Given, node: ast.AST
) -> Shape | None:
    """None where what a layer gives is not known."""
    number, shape = layer.number, tensor.shape
    match layer.kind:
        case "Linear":
            fits(run, layer, tensor, -1, number("in_features"), node)
            return last_size(shape, number("out_features"))
        case "Embedding":
            look_up(run, layer, tensor, node)
            return Shape((*shape.sizes, number("embedding_dim")), shape.more)
        case "LayerNorm" | "RMSNorm":
            for at, size in enumerate(reversed(normalized(layer)), start=1):
                if isinstance(size, int):
                    fits(run, layer, tensor, -at, size, node)
            return shape
        case "Conv1d" | "Conv2d" | "Conv3d":
            return convolved(run, layer, tensor, node)
        case "ConvTranspose1d" | "ConvTranspose2d" | "ConvTranspose3d":
            return convolved(run, layer, tensor, node, transposed=True)
        case "BatchNorm2d" | "BatchNorm3d":
            axis = -3 if layer.kind == "BatchNorm2d" else -4
            fits(run, layer, tensor, axis, number("num_features"), node)
            return shape
        case "BatchNorm1d":
            if shape.rank in (2, 3):
                fits(run, layer, tensor, 1, number("num_features"), node)
            return shape
        case "GroupNorm":
            if shape.rank is not None and shape.rank > 1:
                fits(run, layer, tensor, 1, number("num_channels"), node)
            return shape
        case "LSTM" | "GRU" | "RNN":
            fits(run, layer, tensor, -1, number("input_size"), node)
            return recurrent_shape(layer, shape)
        case "TransformerEncoderLayer" | "TransformerDecoderLayer":
            fits(run, layer, tensor, -1, number("d_model"), node)
            return last_size(shape, number("d_model"))
        case "TransformerEncoder":
            inner = layer.given["encoder_layer"]
            fits(run, inner, tensor, -1, inner.number("d_model"), node)
            return last_size(shape, inner.number("d_model"))
        case "MultiheadAttention":
            fits(run, layer, tensor, -1, number("embed_dim"), node)
            return last_size(shape, number("embed_dim"))
        case "Flatten":
            start = whole(layer.given.get("start_dim", Known(1)))
            stop = whole(layer.given.get("end_dim", Known(-1)))
            return operations.flattened(shape, start, stop)
        case "Upsample":
            return None
    if "Pool" in layer.kind:
        return pooled(layer, shape)
    return None


def fits(
    run: "Run", layer: Layer, tensor: Tensor, axis: int, takes: int | None, node: ast.AST
) -> bool:
    has = tensor.shape.size(axis)
    if takes is None or not isinstance(has, int) or has == takes:
        return True
    run.mishap(WidthMisfit(node, layer, tensor, axis, takes, has))
    return False


def last_size(shape: Shape, size: Size) -> Shape:
    before = shape.sizes[:-1] if shape.sizes else ()
    return Shape((*before, size), shape.more)


def convolved(
    run: "Run", layer: Layer, tensor: Tensor, node: ast.AST, transposed: bool = False
) -> Shape:
    axes = int(layer.kind[-2])
    shape = tensor.shape
    takes = layer.number("in_channels")
    if len(shape.sizes) >= axes + 1 or not shape.more:
        fits(run, layer, tensor, -axes - 1, takes, node)
    kernel = spread(layer, "kernel_size", axes, 1)
    stride = spread(layer, "stride", axes, 1)
    padding = spread(layer, "padding", axes, 0)
    dilation = spread(layer, "dilation", axes, 1)
    more = spread(layer, "output_padding", axes, 0)
    sizes: list[Size] = []
    for at in range(axes):
        have = shape.size(at - axes)
        if transposed:
            size = grown(have, kernel[at], stride[at], padding[at], more[at], dilation[at])
        else:
            size = windowed(have, kernel[at], stride[at], padding[at], dilation[at])
            if size is None and is_same(kernel[at], stride[at], padding[at], dilation[at]):
                size = have
        sizes.append(None if size == MISFIT else size)
    before = shape.sizes[: -axes - 1] if len(shape.sizes) > axes else ()
    unknown_rank = shape.more or len(shape.sizes) < axes + 1
    return Shape((*before, layer.number("out_channels"), *sizes), unknown_rank)


def is_same(kernel: Size, stride: Size, padding: Size, dilation: Size) -> bool:
    """A window that leaves every size as it is."""
    numbers = (kernel, stride, padding, dilation)
    if not all(isinstance(one, int) for one in numbers):
        return False
    return windowed(1000, *numbers) == 1000


def pooled(layer: Layer, shape: Shape) -> Shape | None:
    axes = int(layer.kind[-2])
    if len(shape.sizes) < axes:
        return Shape((None,) * axes, True) if shape.more else None
    before = shape.sizes[:-axes]
    if layer.kind.startswith("Adaptive"):
        if is_true(layer.given.get("return_indices")):
            return None
        return Shape((*before, *spread(layer, "output_size", axes, 1)), shape.more)
    if not set(layer.given) <= {"kernel_size", "stride", "padding"}:
        return Shape((*before, *(None,) * axes), shape.more)
    kernel = spread(layer, "kernel_size", axes, 1)
    stride = spread(layer, "stride", axes, 1) if has_stride(layer) else kernel
    padding = spread(layer, "padding", axes, 0)
    sizes = [
        windowed(shape.size(at - axes), kernel[at], stride[at], padding[at]) for at in range(axes)
    ]
    return Shape((*before, *(None if one == MISFIT else one for one in sizes)), shape.more)


def has_stride(layer: Layer) -> bool:
    value = layer.given.get("stride", Known(None))
    return not (isinstance(value, Known) and value.value is None)


def recurrent_shape(layer: Layer, shape: Shape) -> Shape:
    hidden = layer.number("hidden_size")
    both = layer.given.get("bidirectional", Known(False))
    if not isinstance(both, Known) or "proj_size" in layer.given:
        hidden = None
    elif both.value and hidden is not None:
        hidden *= 2
    return last_size(shape, hidden)


def recurrent_result(run: "Run", layer: Layer, given: Given, output: Tensor, node: ast.AST) -> Any:
    """The output and the state, which goes on from the state that was given."""
    before = given.get("hx", 1, Known(None))
    states = before.items if isinstance(before, Listed) and before.items else (before,)
    inputs = [one for one in (given.plain[0], *states) if isinstance(one, Tensor)]
    hidden = layer.number("hidden_size")
    if "proj_size" in layer.given:
        hidden = None
    output = derived(run, node, output.shape, inputs, output.dtype, layer=layer)
    state = derived(run, node, Shape((hidden,), True), inputs, output.dtype, layer=layer)
    state.parts = output.parts
    if layer.kind != "LSTM":
        return listed("tuple", (output, state))
    cell = derived(
        run, node, Shape((layer.number("hidden_size"),), True), inputs, output.dtype, layer=layer
    )
    cell.parts = output.parts
    return listed("tuple", (output, listed("tuple", (state, cell))))


def look_up(run: "Run", layer: Layer, tensor: Tensor, node: ast.AST) -> None:
    rows = layer.number("num_embeddings")
    if rows is None:
        return
    if tensor.high is not None and tensor.high >= rows:
        run.mishap(OutsideTable(node, layer, tensor, tensor.high))
    elif tensor.low is not None and tensor.low < 0:
        run.mishap(OutsideTable(node, layer, tensor, tensor.low))


def look_at_input(run: "Run", layer: Layer, tensor: Tensor, node: ast.AST) -> None:
    if layer.kind not in WITH_WEIGHTS:
        return
    weights = layer.state["dtype"]
    if (
        run.mixed is False
        and layer.kind in ("Linear", "Conv1d", "Conv2d", "Conv3d", "LSTM", "GRU", "RNN")
        and weights is not None
        and tensor.dtype is not None
        and tensor.dtype != weights
    ):
        run.mishap(DtypeMisfit(node, layer, tensor))
    learns = layer.state["trainable"] is True and run.graphs.recording is True
    if (
        tensor.inference is not None
        and learns
        and layer.kind
        in (
            "Linear",
            "Conv1d",
            "Conv2d",
            "Conv3d",
        )
    ):
        run.mishap(InferenceUsed(node, layer, tensor))
