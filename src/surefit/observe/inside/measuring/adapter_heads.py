"""Parts of a model outside its base that were not loaded with it: a new classification head."""

from collections.abc import Iterator
from typing import Any

from surefit.doctor.measures.weights_learn import AdapterHead
from surefit.observe.inside.identity import identity
from surefit.observe.inside.training import hanging

LOADED = "_is_hf_initialized"
"""What transformers sets on parameters that it read from a file."""


def new_heads(model: Any) -> Iterator[AdapterHead]:
    """Of a model of transformers; none where an adapter wraps it or keeps a copy of its own."""
    prefix = getattr(type(model), "base_model_prefix", "")
    parts = vars(model).get("_modules") or {}
    base = parts.get(prefix) if type(prefix) is str and prefix else None
    if base is None:
        return
    inside = [hung.parameter for hung in hanging.parameters(base)]
    known = set(map(identity, inside))
    from_file = any(vars(parameter).get(LOADED) is True for parameter in inside)
    for name, part in parts.items():
        if part is None or part is base or _is_wrapped(part):
            continue
        own = [hung.parameter for hung in hanging.parameters(part)]
        if not own or any(identity(parameter) in known for parameter in own):
            continue
        if _is_new(model, part, own, from_file):
            yield AdapterHead(
                name=name,
                parameters=sum(int(parameter.numel()) for parameter in own),
                trainable=any(parameter.requires_grad for parameter in own),
            )


def _is_wrapped(part: Any) -> bool:
    """By an adapter, or by `modules_to_save`."""
    waiting = [part]
    while waiting:
        module = waiting.pop()
        inside = vars(module).get("_modules") or {}
        if "base_layer" in inside or "modules_to_save" in inside:
            return True
        waiting += [child for child in inside.values() if child is not None]
    return False


def _is_new(model: Any, part: Any, own: list[Any], from_file: bool) -> bool:
    """Where nothing of the model is known to come from a file: its outputs are the labels, and its
    biases are zero, as they are created."""
    if any(vars(parameter).get(LOADED) is True for parameter in own):
        return False
    biases = [parameter for parameter in own if parameter.dim() == 1]
    zero = not any(bool(bias.detach().any()) for bias in biases)
    if from_file:
        return zero or any(bias.requires_grad for bias in biases)
    labels = getattr(vars(model).get("config"), "num_labels", None)
    held = vars(part).get("_parameters") or {}
    weight = held.get("weight")
    gives_labels = weight is not None and type(labels) is int and weight.shape[0] == labels
    return gives_labels and bool(biases) and (zero or biases[0].requires_grad)
