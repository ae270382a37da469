"""What adapters were to be put on, and which layers the model has that could take one."""

import sys
from collections import Counter
from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes, is_module

LAYERS = ("Linear", "Conv1D", "Conv1d", "Conv2d", "Embedding", "NonDynamicallyQuantizableLinear")


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    for frame in frames:
        names = frame.f_locals
        model, config = names.get("model"), names.get("peft_config")
        if config is None and "config" in names and "peft" in frame.f_code.co_filename:
            config = names["config"]
        asked = attributes(config) if config is not None else {}
        if is_module(model) and "target_modules" in asked:
            return {
                "model": type(model).__name__,
                "type": model_type(model),
                "targets": asked_for(asked["target_modules"]),
                "layers": layers(model),
                "usual": usual(model_type(model)),
            }
    return None


def asked_for(targets: Any) -> list[str] | str | None:
    if type(targets) in (list, set, tuple):
        return sorted(str(one) for one in targets)
    return targets if type(targets) is str else None


def layers(model: Any) -> dict[str, dict[str, int]]:
    """The last part of a layer's name -> its kind -> how many there are."""
    counts: Counter[tuple[str, str]] = Counter()
    open_modules = [("", model)]
    while open_modules:
        name, module = open_modules.pop()
        kind = type(module).__name__
        if kind in LAYERS:
            counts[name, kind] += 1
        children = attributes(module).get("_modules", {})
        open_modules += [(key, one) for key, one in children.items() if one is not None]
    found: dict[str, dict[str, int]] = {}
    for (name, kind), count in sorted(counts.items()):
        found.setdefault(name, {})[kind] = count
    return found


def model_type(model: Any) -> str:
    kind = getattr(type(attributes(model).get("config")), "model_type", "")
    return kind if type(kind) is str else ""


def usual(kind: str) -> list[str]:
    """What the installed PEFT takes for such a model if it is told nothing."""
    constants = sys.modules.get("peft.utils.constants")
    table = getattr(constants, "TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING", {})
    return [str(one) for one in table.get(kind, [])]
