"""Layers of `torch.nn`: what their constructors take, and the tensors that they hold."""

from surefit.interpreter.shapes import Shape, Size
from surefit.interpreter.value_queries import items_of
from surefit.interpreter.values import Constant, LayerValue, SequenceValue, integer_of
from surefit.laws.losses.loss_calls import CLASSES

CONVOLUTION = (
    *("in_channels", "out_channels", "kernel_size", "stride", "padding", "dilation", "groups"),
    *("bias", "padding_mode"),
)
TRANSPOSED = (
    *("in_channels", "out_channels", "kernel_size", "stride", "padding", "output_padding"),
    *("groups", "bias", "dilation"),
)
RECURRENT_KINDS = ("LSTM", "GRU", "RNN")
RECURRENT = (
    *("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout"),
    *("bidirectional", "proj_size"),
)
BATCH_NORM = ("num_features", "eps", "momentum", "affine", "track_running_stats")
POOLING = ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")
AVERAGE = ("kernel_size", "stride", "padding", "ceil_mode")
TRANSFORMER = ("d_model", "nhead", "dim_feedforward", "dropout", "activation")
LOSS = ("size_average", "reduce", "reduction")
WEIGHTED = ("weight", *LOSS)
ADAPTIVE = (
    *("AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d"),
    *("AdaptiveMaxPool1d", "AdaptiveMaxPool2d"),
)
ATTENTION = (
    *("embed_dim", "num_heads", "dropout", "bias", "add_bias_kv", "add_zero_attn"),
    *("kdim", "vdim", "batch_first"),
)

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "Linear": ("in_features", "out_features", "bias"),
    "Bilinear": ("in1_features", "in2_features", "out_features", "bias"),
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), CONVOLUTION),
    **dict.fromkeys(("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"), TRANSPOSED),
    **dict.fromkeys(RECURRENT_KINDS, RECURRENT),
    "Embedding": ("num_embeddings", "embedding_dim", "padding_idx"),
    "LayerNorm": ("normalized_shape", "eps", "elementwise_affine", "bias"),
    "RMSNorm": ("normalized_shape", "eps", "elementwise_affine"),
    **dict.fromkeys(("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"), BATCH_NORM),
    "GroupNorm": ("num_groups", "num_channels", "eps", "affine"),
    "Flatten": ("start_dim", "end_dim"),
    "Softmax": ("dim",),
    "LogSoftmax": ("dim",),
    **dict.fromkeys(("MaxPool1d", "MaxPool2d", "MaxPool3d"), POOLING),
    **dict.fromkeys(("AvgPool1d", "AvgPool2d", "AvgPool3d"), AVERAGE),
    **dict.fromkeys(ADAPTIVE, ("output_size", "return_indices")),
    "MultiheadAttention": ATTENTION,
    "TransformerEncoderLayer": TRANSFORMER,
    "TransformerDecoderLayer": TRANSFORMER,
    "TransformerEncoder": ("encoder_layer", "num_layers", "norm"),
    "Transformer": ("d_model", "nhead"),
    "Upsample": ("size", "scale_factor", "mode"),
    "DataParallel": ("module",),
    "CrossEntropyLoss": ("weight", "size_average", "ignore_index", "reduce", "reduction"),
    "NLLLoss": ("weight", "size_average", "ignore_index", "reduce", "reduction"),
    **dict.fromkeys(("MSELoss", "L1Loss", "SmoothL1Loss", "KLDivLoss"), LOSS),
    **dict.fromkeys(("BCELoss", "BCEWithLogitsLoss"), WEIGHTED),
    "HuberLoss": ("reduction", "delta"),
    "PoissonNLLLoss": ("log_input", "full", "size_average", "eps", "reduce", "reduction"),
}
SAME_NAME = (
    *("ReLU", "ReLU6", "GELU", "SiLU", "ELU", "SELU", "Tanh", "Sigmoid", "Softplus", "Hardswish"),
    *("Mish", "Identity", "Softmax"),
)
DROPOUTS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout")
SHAPE_PRESERVING = {
    **{name: name.lower() for name in SAME_NAME},
    **dict.fromkeys(DROPOUTS, "dropout"),
    "LeakyReLU": "leaky_relu",
    "LogSoftmax": "log_softmax",
}
"""Layers without weights that leave the shape as it is."""
LOSS_LAYERS = {kind: name for name, kind in CLASSES.items() if kind in ARGUMENTS}
CONTAINERS = ("Sequential", "ModuleList", "ModuleDict", "DataParallel", "ParameterList")
WITH_WEIGHTS = {
    *("Linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d"),
    *("ConvTranspose3d", "LSTM", "GRU", "RNN", "Embedding", "LayerNorm", "RMSNorm"),
    *("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "MultiheadAttention"),
    *("TransformerEncoderLayer", "TransformerDecoderLayer", "TransformerEncoder"),
}
WITHOUT_TENSORS = {
    *SHAPE_PRESERVING,
    *(name for name in ARGUMENTS if "Pool" in name),
    *LOSS_LAYERS,
    *("Flatten", "Upsample"),
}


def has_weights(layer: LayerValue) -> bool:
    return layer.kind in WITH_WEIGHTS


def per_axis(layer: LayerValue, name: str, axes: int, default: int) -> tuple[Size, ...]:
    """`3` and `(3, 3)` alike."""
    value = layer.arguments.get(name, Constant(default))
    items = items_of(value)
    if items is None:
        return (integer_of(value),) * axes
    return tuple(integer_of(item) for item in items) if len(items) == axes else (None,) * axes


def tensors_of(layer: LayerValue) -> dict[str, Shape] | None:
    """Names and shapes of what a layer's state dict holds; None where that is not known."""
    if layer.kind in WITHOUT_TENSORS:
        return {}
    sizes = own_tensors(layer)
    return None if sizes is None else {name: Shape(shape) for name, shape in sizes.items()}


def own_tensors(layer: LayerValue) -> dict[str, tuple[Size, ...]] | None:
    number = layer.number
    value = layer.arguments.get("bias", Constant(True))
    bias = bool(value.value) if isinstance(value, Constant) else None
    if layer.kind == "Linear" and bias is not None:
        weight = (number("out_features"), number("in_features"))
        return {"weight": weight, **({"bias": weight[:1]} if bias else {})}
    if layer.kind in ("Conv1d", "Conv2d", "Conv3d") and bias is not None:
        kernel = per_axis(layer, "kernel_size", int(layer.kind[4]), 1)
        groups = integer_of(layer.arguments.get("groups", Constant(1)))
        taken = number("in_channels")
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
        return dict.fromkeys(("weight", "bias"), (number("num_channels"),))
    if layer.kind in RECURRENT_KINDS:
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
