"""Layers in words: what they are called, and what goes in and comes out."""

from surefit.doctor.observations import Layer

INTO = ("in_features", "in_channels", "input_size", "nx", "embed_dim", "num_features")
OUT_OF = ("out_features", "out_channels", "hidden_size", "nf")
OF = ("num_embeddings", "embedding_dim", "num_channels", "normalized_shape")


def layer_name(layer: Layer) -> str:
    """Its path in the model, or its class where it has none; `Sequential[2]` for a bare number."""
    if layer.path and layer.path.isdigit() and layer.root:
        return f"`{layer.root}[{layer.path}]`"
    return f"`{layer.path or layer.kind}`"


def described(layer: Layer) -> str:
    """`Linear(271 → 256)`, `LayerNorm(256)`; the bare class where its sizes say nothing."""
    into = next((layer.sizes[key] for key in INTO if key in layer.sizes), None)
    out = next((layer.sizes[key] for key in OUT_OF if key in layer.sizes), None)
    if into is not None:
        return f"{layer.kind}({into} → {out})" if out is not None else f"{layer.kind}({into})"
    sizes = [str(layer.sizes[key]) for key in OF if key in layer.sizes]
    return f"{layer.kind}({', '.join(sizes)})" if sizes else layer.kind
