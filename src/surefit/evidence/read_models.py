"""Models, as the source of a script shows them: layers of torch, classes of the file, and models
of transformers."""

import ast

from surefit.source.outcomes import maker
from surefit.source.reading import Source

LOADS = ("from_pretrained", "from_config")


def layer_of(source: Source, node: ast.expr) -> str:
    """`Linear` for a layer of torch; empty for everything else."""
    made = maker(source, node)
    name = source.imported(made.func) if made else ""
    package, _, last = name.rpartition(".")
    is_layer = package in ("torch.nn", "torch.nn.modules") and last[:1].isupper()
    return last if is_layer and not last.endswith("Loss") else ""


def loaded_model(source: Source, node: ast.expr) -> str:
    """`AutoModelForCausalLM` for a model of transformers that is loaded or made from a
    configuration; empty for everything else."""
    made = maker(source, node)
    if made is None:
        return ""
    name = source.imported(made.func)
    if not name.startswith("transformers."):
        return ""
    parts = name.split(".")
    kind = parts[-2] if parts[-1] in LOADS else parts[-1]
    return kind if "Model" in kind or "For" in kind else ""
