"""Layers of `torch.nn`: what their constructors take, and what shapes their weights have."""

from surefit.evidence.imagined.shapes import Shape, Size
from surefit.evidence.imagined.values import Known, Layer, Listed, members, whole

CONVOLUTION = (
    "in_channels",
    "out_channels",
    "kernel_size",
    "stride",
    "padding",
    "dilation",
    "groups",
    "bias",
    "padding_mode",
)
TRANSPOSED = (
    "in_channels",
    "out_channels",
    "kernel_size",
    "stride",
    "padding",
    "output_padding",
    "groups",
    "bias",
    "dilation",
)
RECURRENT = (
    "input_size",
    "hidden_size",
    "num_layers",
    "bias",
    "batch_first",
    "dropout",
    "bidirectional",
    "proj_size",
)
BATCH_NORM = ("num_features", "eps", "momentum", "affine", "track_running_stats")
POOLING = ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")
AVERAGE = ("kernel_size", "stride", "padding", "ceil_mode")
TRANSFORMER = ("d_model", "nhead", "dim_feedforward", "dropout", "activation")
LOSS = ("size_average", "reduce", "reduction")
WEIGHTED = ("weight", *LOSS)

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "Linear": ("in_features", "out_features", "bias"),
    "Bilinear": ("in1_features", "in2_features", "out_features", "bias"),
    **dict.fromkeys(("Conv1d", "Conv2d", "Conv3d"), CONVOLUTION),
    **dict.fromkeys(("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"), TRANSPOSED),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), RECURRENT),
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
    **dict.fromkeys(
        (
            "AdaptiveAvgPool1d",
            "AdaptiveAvgPool2d",
            "AdaptiveAvgPool3d",
            "AdaptiveMaxPool1d",
            "AdaptiveMaxPool2d",
        ),
        ("output_size", "return_indices"),
    ),
    "MultiheadAttention": (
        "embed_dim",
        "num_heads",
        "dropout",
        "bias",
        "add_bias_kv",
        "add_zero_attn",
        "kdim",
        "vdim",
        "batch_first",
    ),
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
PLAIN = {
    "ReLU": "relu",
    "ReLU6": "relu6",
    "GELU": "gelu",
    "SiLU": "silu",
    "ELU": "elu",
    "SELU": "selu",
    "Tanh": "tanh",
    "Sigmoid": "sigmoid",
    "LeakyReLU": "leaky_relu",
    "Softplus": "softplus",
    "Hardswish": "hardswish",
    "Mish": "mish",
    "Dropout": "dropout",
    "Dropout1d": "dropout",
    "Dropout2d": "dropout",
    "Dropout3d": "dropout",
    "AlphaDropout": "dropout",
    "Identity": "identity",
    "Softmax": "softmax",
    "LogSoftmax": "log_softmax",
}
"""Layers without weights that leave the shape as it is."""
LOSSES = {
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "KLDivLoss": "kl_div",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "PoissonNLLLoss": "poisson_nll_loss",
}
CONTAINERS = ("Sequential", "ModuleList", "ModuleDict", "DataParallel", "ParameterList")
WITH_WEIGHTS = {
    "Linear",
    "Bilinear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LSTM",
    "GRU",
    "RNN",
    "Embedding",
    "LayerNorm",
    "RMSNorm",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "MultiheadAttention",
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
    "TransformerEncoder",
}
WITHOUT_TENSORS = {
    *PLAIN,
    *(name for name in ARGUMENTS if "Pool" in name),
    "Flatten",
    "Upsample",
    *(name for name in LOSSES),
}


def spread(layer: Layer, name: str, axes: int, default: int) -> tuple[Size, ...]:
    """`3` and `(3, 3)` alike."""
    value = layer.given.get(name, Known(default))
    several = members(value)
    if several is not None:
        return tuple(whole(one) for one in several) if len(several) == axes else (None,) * axes
    return (whole(value),) * axes


def has_bias(layer: Layer) -> bool | None:
    value = layer.given.get("bias", Known(True))
    return bool(value.value) if isinstance(value, Known) else None


def tensors_of(layer: Layer) -> dict[str, Shape] | None:
    """Names and shapes of what a layer's state dict holds; None where that is not known."""
    if layer.kind in WITHOUT_TENSORS:
        return {}
    sizes = own_tensors(layer)
    return None if sizes is None else {name: Shape(tuple(one)) for name, one in sizes.items()}


def own_tensors(layer: Layer) -> dict[str, tuple[Size, ...]] | None:
    number = layer.number
    bias = has_bias(layer)
    if layer.kind == "Linear" and bias is not None:
        weight = (number("out_features"), number("in_features"))
        return {"weight": weight, **({"bias": weight[:1]} if bias else {})}
    if layer.kind in ("Conv1d", "Conv2d", "Conv3d") and bias is not None:
        kernel = spread(layer, "kernel_size", int(layer.kind[4]), 1)
        groups, taken = whole(layer.given.get("groups", Known(1))), number("in_channels")
        per = taken // groups if groups and taken is not None else None
        out = number("out_channels")
        return {"weight": (out, per, *kernel), **({"bias": (out,)} if bias else {})}
    if layer.kind == "Embedding":
        return {"weight": (number("num_embeddings"), number("embedding_dim"))}
    if layer.kind == "LayerNorm" and set(layer.given) <= {"normalized_shape", "eps"}:
        shape = normalized(layer)
        return {"weight": shape, "bias": shape} if shape else None
    if layer.kind in ("BatchNorm1d", "BatchNorm2d") and set(layer.given) <= {
        "num_features",
        "eps",
        "momentum",
    }:
        features = (number("num_features"),)
        names = ("weight", "bias", "running_mean", "running_var")
        return {**dict.fromkeys(names, features), "num_batches_tracked": ()}
    if layer.kind == "GroupNorm" and "affine" not in layer.given:
        channels = (number("num_channels"),)
        return {"weight": channels, "bias": channels}
    if layer.kind in ("LSTM", "GRU", "RNN"):
        return recurrent_tensors(layer)
    return None


def normalized(layer: Layer) -> tuple[Size, ...]:
    value = layer.given.get("normalized_shape")
    if isinstance(value, Listed):
        return tuple(whole(one) for one in value.items or ())
    return (whole(value),)


GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent_tensors(layer: Layer) -> dict[str, tuple[Size, ...]] | None:
    plain = {"input_size", "hidden_size", "num_layers", "batch_first", "dropout"}
    hidden, taken = layer.number("hidden_size"), layer.number("input_size")
    layers = whole(layer.given.get("num_layers", Known(1)))
    if not set(layer.given) <= plain or hidden is None or layers is None or layers > 8:
        return None
    rows = GATES[layer.kind] * hidden
    found: dict[str, tuple[Size, ...]] = {}
    for at in range(layers):
        found[f"weight_ih_l{at}"] = (rows, taken if at == 0 else hidden)
        found[f"weight_hh_l{at}"] = (rows, hidden)
        found[f"bias_ih_l{at}"] = (rows,)
        found[f"bias_hh_l{at}"] = (rows,)
    return found


BUFFERS = ("running_mean", "running_var", "num_batches_tracked")


def parameters_of(layer: Layer) -> dict[str, Shape] | None:
    found = tensors_of(layer)
    if found is None:
        return None
    return {name: shape for name, shape in found.items() if name not in BUFFERS}
