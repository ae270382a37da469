"""Parameters of an optimizer, and the shapes of what it keeps, or is given, for each of them."""

import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside import origins
from surefit.observe.inside.autopsy.probes.state_dict import place, shape, tensors_of
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes, is_a, is_module, is_tensor, mapping


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    optimizer = optimizer_in(frames)
    if optimizer is None:
        return None
    own = attributes(optimizer)
    names = names_of_parameters(frames)
    state = own.get("state") or {}
    return {
        "kind": type(optimizer).__name__,
        "made_at": place(optimizer),
        "groups": [
            [described(one, names, mapping(state.get(one)) or {}) for one in group["params"]]
            for group in own.get("param_groups", [])
        ],
        "saved": saved_in(frames),
    }


def optimizer_in(frames: Sequence[FrameType]) -> Any:
    for frame in reversed(frames):
        this = frame.f_locals.get("self")
        if is_a(this, "torch.optim.optimizer", "Optimizer"):
            return this
    return None


def described(parameter: Any, names: dict[int, str], state: dict[Any, Any]) -> dict[str, Any]:
    """State of one number (a count of steps) says nothing about its parameter."""
    held = {str(key): shape(one) for key, one in state.items() if is_tensor(one) and one.dim()}
    return {
        "name": names.get(id(parameter), ""),
        "shape": shape(parameter),
        "state": held,
        "gradient": shape(parameter.grad) if is_tensor(parameter.grad) else None,
    }


def names_of_parameters(frames: Sequence[FrameType]) -> dict[int, str]:
    """By the largest module that holds them, of those that were seen being made."""
    module = getattr(sys.modules.get("torch.nn.modules.module"), "Module", None)
    every = list(origins.alive(module)) if module else []
    every += [one for frame in frames for one in frame.f_locals.values() if is_module(one)]
    found: dict[int, str] = {}
    for one in every:
        for name, tensor in tensors_of(one):
            if len(name) > len(found.get(id(tensor), "")):
                found[id(tensor)] = name
    return found


def saved_in(frames: Sequence[FrameType]) -> list[list[list[int]]] | None:
    """Shapes of what is kept for each parameter, group by group, in a state dict that is being
    loaded; empty ones where nothing is kept."""
    for frame in reversed(frames):
        if frame.f_code.co_name == "load_state_dict":
            given = mapping(frame.f_locals.get("state_dict")) or {}
            state = mapping(given.get("state")) or {}
            return [
                [first_shape(mapping(state.get(key)) or {}) for key in keys]
                for keys in keys_of(given.get("param_groups"))
            ]
    return None


def keys_of(groups: Any) -> Iterator[list[Any]]:
    for group in groups if type(groups) is list else ():
        yield list((mapping(group) or {}).get("params", ()))


def first_shape(state: dict[Any, Any]) -> list[int]:
    return next((shape(one) for one in state.values() if is_tensor(one) and one.dim()), [])
