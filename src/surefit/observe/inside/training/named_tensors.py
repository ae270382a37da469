"""Tensors that a model is called with, by the names that its `forward` has for them."""

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from surefit.observe.inside.autopsy import values
from surefit.observe.inside.training import hanging


def named_tensors(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Of a mapping that is given, its items."""
    parameters = _parameters(module)
    for position, argument in enumerate(args):
        inside = values.mapping(argument)
        name = parameters[position] if position < len(parameters) else str(position)
        yield from _tensors(inside.items() if inside is not None else ((name, argument),))
    yield from _tensors(kwargs.items())


def _tensors(members: Iterable[tuple[Any, Any]]) -> Iterator[tuple[str, Any]]:
    for name, value in members:
        if values.is_tensor(value):
            yield str(name), value


def _parameters(module: Any) -> list[str]:
    own = hanging.unwrapped(module)
    try:
        return list(inspect.signature(type(own).forward).parameters)[1:]
    except (AttributeError, TypeError, ValueError):
        return []
