"""What parameters a module has: registered, requiring grad, and hidden in plain lists."""

import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import attributes, is_a, is_module, is_tensor

MOST_TOLD = 8


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    module = value_in(frames, about)
    if not is_module(module):
        return None
    torch = sys.modules["torch"]
    registered = list(torch.nn.Module.parameters(module))
    hidden = [one for inner in torch.nn.Module.modules(module) for one in _hidden(inner)]
    return {
        "kind": type(module).__name__,
        "parameters": len(registered),
        "trainable": sum(bool(one.requires_grad) for one in registered),
        "hidden": hidden[:MOST_TOLD],
    }


def _hidden(module: Any) -> Iterator[dict[str, Any]]:
    """Modules and parameters in lists, tuples and dictionaries, which no module looks into."""
    for name, held in attributes(module).items():
        inside: list[Any] = []
        if type(held) in (list, tuple):
            inside = list(held)
        elif type(held) is dict and not name.startswith("_"):
            inside = list(held.values())
        modules = [one for one in inside if is_module(one)]
        plain = [one for one in inside if is_a(one, "torch.nn.parameter", "Parameter")]
        tensors = [one for one in inside if is_tensor(one) and one.requires_grad]
        if modules or plain or tensors:
            yield {
                "owner": type(module).__name__,
                "name": name,
                "holder": type(held).__name__,
                "modules": len(modules),
                "parameters": sum(len(list(one.parameters())) for one in modules) + len(plain),
            }
