"""Layers of `torch.nn`: what their constructors take."""

from surefit.interpreter.values import LayerValue

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
RECURRENT_KINDS = ("LSTM", "GRU", "RNN")
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
SHAPE_PRESERVING = {
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
LOSS_LAYERS = {
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
    *SHAPE_PRESERVING,
    *(name for name in ARGUMENTS if "Pool" in name),
    "Flatten",
    "Upsample",
    *(name for name in LOSS_LAYERS),
}


def has_weights(layer: LayerValue) -> bool:
    return layer.kind in WITH_WEIGHTS
