"""Tensors in the arguments and results of a model, by their paths, and trees of others in their
place."""

from collections.abc import Callable, Iterator
from typing import Any

from surefit.observe.inside.autopsy.values import is_tensor, mapping
from surefit.observe.inside.training import readable

PLAIN = (int, float, bool, str, type(None), complex, bytes)
DEEPEST = 4

Path = tuple[str | int, ...]
Change = Callable[[Path, Any], Any]


class UnknownInputError(Exception):
    """A model is given something that is neither a tensor nor a plain container of tensors."""


def leaves(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Everything that is no container; of mappings and sequences what is inside."""
    if len(path) <= DEEPEST:
        inside = None if is_tensor(tree) else mapping(tree)
        if inside is not None:
            for key, member in inside.items():
                yield from leaves(member, (*path, key))
            return
        if isinstance(tree, list | tuple):
            for number, member in enumerate(tree):
                yield from leaves(member, (*path, number))
            return
    yield path, tree


def tensors(tree: Any) -> dict[Path, Any]:
    return {path: leaf for path, leaf in leaves(tree) if is_tensor(leaf)}


def is_plain(value: Any) -> bool:
    """A tensor of torch's own class, whose attributes no code of the user's answers."""
    if not is_tensor(value):
        return False
    library = readable.torch()
    return type(value) is library.Tensor or type(value) is library.nn.Parameter


def changed(tree: Any, change: Change, path: Path = ()) -> Any:
    """The same tree with every tensor, and every list of plain values, as `change` says."""
    if is_tensor(tree):
        return change(path, tree)
    if type(tree) in PLAIN or is_setting(tree):
        return tree
    if len(path) > DEEPEST:
        raise UnknownInputError(type(tree).__name__)
    inside = mapping(tree)
    if inside is not None:
        members = {key: changed(member, change, (*path, key)) for key, member in inside.items()}
        if type(tree) is dict:
            return members
        return _like(tree, members)
    if isinstance(tree, list | tuple):
        if tree and all(type(member) in PLAIN for member in tree):
            return change(path, tree)
        parts = [changed(member, change, (*path, number)) for number, member in enumerate(tree)]
        if type(tree) in (list, tuple):
            return type(tree)(parts)
        return type(tree)(*parts)  # a named tuple
    raise UnknownInputError(type(tree).__name__)


def is_setting(value: Any) -> bool:
    """A dtype, a device, a function: nothing that has rows."""
    kind = type(value)
    return kind.__module__ == "torch" or callable(value) or isinstance(value, slice | range)


def _like(tree: Any, members: dict[Any, Any]) -> Any:
    import copy

    other = copy.copy(tree)
    for key, member in members.items():
        other[key] = member
    return other
