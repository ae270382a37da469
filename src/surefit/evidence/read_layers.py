"""What a layer of torch makes of a tensor, by how the source made the layer."""

import ast
from dataclasses import replace

from surefit.evidence.known_tensors import Several, Tensor, Value, product
from surefit.source.constants import truth, whole
from surefit.source.outcomes import maker
from surefit.source.reading import Source

SAME = (
    *("ReLU", "GELU", "Tanh", "Sigmoid", "SiLU", "ELU", "LeakyReLU", "Softmax", "LogSoftmax"),
    *("Dropout", "Identity", "LayerNorm", "RMSNorm", "BatchNorm1d", "BatchNorm2d", "GroupNorm"),
    *("TransformerEncoder", "TransformerEncoderLayer", "Softplus", "Hardtanh"),
)
CONVOLUTIONS = ("Conv1d", "Conv2d", "Conv3d")
RECURRENT = ("LSTM", "GRU", "RNN")


def after_layer(source: Source, made: ast.Call, kind: str, given: Value) -> Value:
    """None where it is not known what the layer gives."""
    if not isinstance(given, Tensor):
        return None
    if kind in SAME:
        return replace(given, kind="float", is_one_hot=False)
    if kind == "Sequential":
        return through(source, made, given)
    if kind in RECURRENT:
        return recurrent(source, made, kind, given)
    if given.sizes is None:
        return Tensor(None, "float", classes_last=kind == "Linear")
    if kind == "Linear":
        out = whole(source, source.argument(made, "out_features", 1))
        return Tensor((*given.sizes[:-1], out), "float", classes_last=True)
    if kind == "Embedding":
        out = whole(source, source.argument(made, "embedding_dim", 1))
        return Tensor((*given.sizes, out), "float")
    if kind == "Flatten" and not made.args and not made.keywords and given.sizes:
        return Tensor((given.sizes[0], product(given.sizes[1:])), "float")
    if kind in CONVOLUTIONS and given.axes == int(kind[4]) + 2:
        out = whole(source, source.argument(made, "out_channels", 1))
        return Tensor((given.sizes[0], out, *(None for _ in given.sizes[2:])), "float")
    return None


def through(source: Source, made: ast.Call, given: Value) -> Value:
    """Layer by layer."""
    for one in made.args:
        inner = maker(source, one)
        name = source.imported(inner.func) if inner else ""
        if inner is None or not name.startswith("torch.nn."):
            return None
        given = after_layer(source, inner, name.rpartition(".")[2], given)
    return given if made.args and not made.keywords else None


def recurrent(source: Source, made: ast.Call, kind: str, given: Tensor) -> Value:
    width = whole(source, source.argument(made, "hidden_size", 1))
    both = source.argument(made, "bidirectional")
    one_way = both is None or truth(source, both) is False
    sizes = given.sizes
    if sizes is None or len(sizes) not in (2, 3):
        return None
    outputs = Tensor((*sizes[:-1], width if one_way else None), "float")
    state = Tensor((*(None for _ in sizes[:-1]), width), "float")
    return Several({0: outputs, 1: Several({0: state, 1: state}) if kind == "LSTM" else state})
