"""The tensors that layers of `torch.nn` hold."""

from surefit.interpreter.layer_tables import WITHOUT_TENSORS
from surefit.interpreter.shapes import Shape, Size
from surefit.interpreter.value_queries import integer_of, items_of
from surefit.interpreter.values import Constant, LayerValue, SequenceValue


def per_axis(layer: LayerValue, name: str, axes: int, default: int) -> tuple[Size, ...]:
    """`3` and `(3, 3)` alike."""
    value = layer.arguments.get(name, Constant(default))
    items = items_of(value)
    if items is None:
        return (integer_of(value),) * axes
    return tuple(integer_of(item) for item in items) if len(items) == axes else (None,) * axes


def has_bias(layer: LayerValue) -> bool | None:
    value = layer.arguments.get("bias", Constant(True))
    return bool(value.value) if isinstance(value, Constant) else None


def tensors_of(layer: LayerValue) -> dict[str, Shape] | None:
    """Names and shapes of what a layer's state dict holds; None where that is not known."""
    if layer.kind in WITHOUT_TENSORS:
        return {}
    sizes = own_tensors(layer)
    return None if sizes is None else {name: Shape(shape) for name, shape in sizes.items()}


def own_tensors(layer: LayerValue) -> dict[str, tuple[Size, ...]] | None:
    number = layer.number
    bias = has_bias(layer)
    if layer.kind == "Linear" and bias is not None:
        weight = (number("out_features"), number("in_features"))
        return {"weight": weight, **({"bias": weight[:1]} if bias else {})}
    if layer.kind in ("Conv1d", "Conv2d", "Conv3d") and bias is not None:
        kernel = per_axis(layer, "kernel_size", int(layer.kind[4]), 1)
        groups, taken = (
            integer_of(layer.arguments.get("groups", Constant(1))),
            number("in_channels"),
        )
        per = taken // groups if groups and taken is not None else None
        out = number("out_channels")
        return {"weight": (out, per, *kernel), **({"bias": (out,)} if bias else {})}
    if layer.kind == "Embedding":
        return {"weight": (number("num_embeddings"), number("embedding_dim"))}
    if layer.kind == "LayerNorm" and set(layer.arguments) <= {"normalized_shape", "eps"}:
        shape = normalized_sizes(layer)
        return {"weight": shape, "bias": shape} if shape else None
    plain_norm = set(layer.arguments) <= {"num_features", "eps", "momentum"}
    if layer.kind in ("BatchNorm1d", "BatchNorm2d") and plain_norm:
        features = (number("num_features"),)
        names = ("weight", "bias", "running_mean", "running_var")
        return {**dict.fromkeys(names, features), "num_batches_tracked": ()}
    if layer.kind == "GroupNorm" and "affine" not in layer.arguments:
        channels = (number("num_channels"),)
        return {"weight": channels, "bias": channels}
    if layer.kind in ("LSTM", "GRU", "RNN"):
        return recurrent_tensors(layer)
    return None


def normalized_sizes(layer: LayerValue) -> tuple[Size, ...]:
    value = layer.arguments.get("normalized_shape")
    if isinstance(value, SequenceValue):
        return tuple(integer_of(item) for item in value.items or ())
    return (integer_of(value),)


GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent_tensors(layer: LayerValue) -> dict[str, tuple[Size, ...]] | None:
    plain = {"input_size", "hidden_size", "num_layers", "batch_first", "dropout"}
    hidden, taken = layer.number("hidden_size"), layer.number("input_size")
    layers = integer_of(layer.arguments.get("num_layers", Constant(1)))
    if not set(layer.arguments) <= plain or hidden is None or layers is None or layers > 8:
        return None
    rows = GATES[layer.kind] * hidden
    results: dict[str, tuple[Size, ...]] = {}
    for at in range(layers):
        weights = (rows, hidden if at else taken), (rows, hidden)
        results |= {f"weight_ih_l{at}": weights[0], f"weight_hh_l{at}": weights[1]}
        results |= {f"bias_ih_l{at}": (rows,), f"bias_hh_l{at}": (rows,)}
    return results


BUFFERS = ("running_mean", "running_var", "num_batches_tracked")


def parameters_of(layer: LayerValue) -> dict[str, Shape] | None:
    tensors = tensors_of(layer)
    if tensors is None:
        return None
    return {name: shape for name, shape in tensors.items() if name not in BUFFERS}
