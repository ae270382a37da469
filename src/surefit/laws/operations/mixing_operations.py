"""Operations of torch that can carry an influence from one row or position to another, by kind."""

from surefit.doctor.measures.experiments import OperationSeen

RECURRENT = frozenset(("lstm", "gru", "rnn_tanh", "rnn_relu"))
ATTENTION = frozenset(
    (
        "scaled_dot_product_attention",
        "multi_head_attention_forward",
        "_native_multi_head_attention",
        "_transformer_encoder_layer_fwd",
    )
)
SOFTMAX = frozenset(("softmax", "log_softmax", "softmin", "gumbel_softmax"))
REDUCTIONS = frozenset(
    ("mean", "sum", "max", "min", "amax", "amin", "logsumexp", "cumsum", "cumprod", "nanmean")
)
EXTREMES = frozenset(("max", "min", "amax", "amin"))
NORMALISATIONS = frozenset(("normalize", "layer_norm", "group_norm", "batch_norm"))
VIEWS = frozenset(("view", "reshape", "flatten", "unflatten", "view_as", "reshape_as"))
CONVOLUTIONS = frozenset(
    ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "max_pool1d")
)
PRODUCTS = frozenset(("matmul", "mm", "bmm", "einsum", "linear", "__matmul__", "__rmatmul__"))
ARITHMETIC = frozenset(
    f"{before}{name}{after}"
    for name in ("add", "mul", "sub", "truediv", "div")
    for before, after in (("", ""), ("", "_"), ("__", "__"), ("__r", "__"), ("__i", "__"))
)
ROWS_FIRST = frozenset(
    (
        "LSTM",
        "GRU",
        "RNN",
        "MultiheadAttention",
        "TransformerEncoderLayer",
        "TransformerDecoderLayer",
        "TransformerEncoder",
        "TransformerDecoder",
        "Transformer",
    )
)
"""Layers that take `batch_first`."""
CARRY = RECURRENT | ATTENTION | SOFTMAX | REDUCTIONS | NORMALISATIONS | VIEWS | CONVOLUTIONS
NEVER_MEANT = SOFTMAX | RECURRENT | VIEWS
"""Of these it is not by design where nothing but the labels says which axis holds the rows."""


def mixes_rows(operation: OperationSeen, assumed: bool) -> bool:
    """A known operation that mixes numbers of rows. Not among them: rows that are picked, sorted or
    routed, statistics of a batch, and values for each pair of rows, all of which are written on
    purpose."""
    if not operation.numbers or operation.pairs:
        return False
    if operation.name == "batch_norm" and "BatchNorm" in operation.kind:
        return False  # created without running statistics
    if operation.name in EXTREMES and len(operation.arguments) == 0:
        return False  # of everything: a scale
    if assumed:
        by_axis = max((len(shape) for shape in operation.inputs), default=0) > 2
        return operation.name in (NEVER_MEANT if by_axis else SOFTMAX)
    if operation.name in PRODUCTS:
        return operation.name in ("linear", "einsum") or sum(map(bool, operation.axes)) == 1
    return operation.name in CARRY or broadcasts(operation)


def broadcasts(operation: OperationSeen) -> bool:
    """Rows of one side lie along another axis of the other."""
    sides = [
        (shape, axes) for shape, axes in zip(operation.inputs, operation.axes, strict=True) if axes
    ]
    if operation.name not in ARITHMETIC or len(sides) != 2:
        return False
    (first, ours), (second, theirs) = sides
    from_end = {axis - len(first) for axis in ours}, {axis - len(second) for axis in theirs}
    return len(first) != len(second) and from_end[0].isdisjoint(from_end[1])


def moves_rows(operation: OperationSeen) -> bool:
    """What is added to a row, or multiplied with it, depends on where the row lies."""
    return operation.numbers and not operation.pairs and operation.name in ARITHMETIC
