"""Layers in words."""

from surefit.doctor.observations import Layer
from surefit.laws.layers.layer_words import described
from surefit.laws.layers.layer_words import layer_name as name


def test_names() -> None:
    assert name(Layer("Linear", "encoder.layer.1.proj", "Bert")) == "`encoder.layer.1.proj`"
    assert name(Layer("Linear", "2", "Sequential")) == "`Sequential[2]`"
    assert name(Layer("Scorer", "", "Scorer")) == "`Scorer`"
    assert name(Layer("CrossEntropyLoss")) == "`CrossEntropyLoss`"


def test_sizes() -> None:
    assert described(Layer("LSTM", sizes={"input_size": 4, "hidden_size": 8})) == "LSTM(4 → 8)"
    assert described(Layer("LayerNorm", sizes={"normalized_shape": 8})) == "LayerNorm(8)"
    sizes = {"num_embeddings": 10, "embedding_dim": 4}
    assert described(Layer("Embedding", sizes=sizes)) == "Embedding(10, 4)"
    assert described(Layer("ReLU")) == "ReLU"
