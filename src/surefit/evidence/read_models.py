"""Models, as the source of a script shows them: layers of torch, classes of the file, and models
of transformers."""

import ast

from surefit.source.classes import named_class
from surefit.source.outcomes import maker, own_class_of
from surefit.source.reading import Source
from surefit.source.remembered import remembered

MODULE = ("torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module")
LOADS = ("from_pretrained", "from_config")


@remembered(otherwise=False)
def is_module_class(source: Source, owner: ast.ClassDef) -> bool:
    """A class of the file that is made from `nn.Module`."""
    for base in owner.bases:
        if source.imported(base) in MODULE:
            return True
        below = named_class(source, base)
        if below is not None and below is not owner and is_module_class(source, below):
            return True
    return False


def own_module(source: Source, node: ast.expr) -> ast.ClassDef | None:
    """The class of the file that a model is of."""
    owner = own_class_of(source, node)
    return owner if owner is not None and is_module_class(source, owner) else None


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


def is_model(source: Source, node: ast.expr) -> bool:
    return bool(own_module(source, node) or layer_of(source, node) or loaded_model(source, node))
