"""Runs a patch when the program has finished importing a module, and not before."""

import sys
from collections.abc import Callable, Container, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from surefit.observe.inside.identity import identity
from surefit.observe.inside.spool import could_not

Patch = Callable[[ModuleType], None]

_waiting: dict[str, list[Patch]] = {}
_caught_up = False
_holders: dict[int, list[tuple[dict[str, Any], str]]] | None = None
"""Identity of what a patch can replace -> the modules, and the names there, that have it."""


def after_import(module: str) -> Callable[[Patch], Patch]:
    """Marks a function of a module, to be called once, right after that module is first run."""

    def mark(patch: Patch) -> Patch:
        loaded = _loaded(module) if _caught_up else None
        if loaded is not None:
            _apply(patch, loaded)
        else:
            _waiting.setdefault(module, []).append(patch)
        return patch

    return mark


def catch_up() -> None:
    """Patches what was imported before surefit was, by a `.pth` file for one; parts come before
    their packages, as they do when they are imported."""
    global _caught_up
    _caught_up = True
    replaced: dict[int, tuple[object, object]] = {}
    for name in sorted(_waiting, key=lambda name: -name.count(".")):
        loaded = _loaded(name)
        if loaded is not None:
            before = dict(vars(loaded))
            for patch in _waiting.pop(name):
                _apply(patch, loaded)
            replaced.update(_changed(before, vars(loaded)))
    if replaced:
        _replace_where_imported(replaced)


def _changed(
    before: dict[str, object], after: dict[str, object]
) -> Iterator[tuple[int, tuple[object, object]]]:
    for name, old in before.items():
        if after.get(name, old) is not old:
            yield identity(old), (old, after[name])


def _replace_where_imported(replaced: dict[int, tuple[object, object]]) -> None:
    """Other modules have taken functions over by `from ... import`, before they were patched."""
    holders = _found_holders(replaced) if _holders is None else _holders
    for number, (old, new) in replaced.items():
        for names, name in holders.get(number, ()):
            if names.get(name) is old:
                names[name] = new


def find_holders() -> None:
    """Of a process to fork from: a fork that looked through all modules would copy most of them."""
    global _holders
    loaded = [module for name in _waiting if (module := _loaded(name)) is not None]
    _holders = _found_holders({identity(v) for module in loaded for v in vars(module).values()})


def _found_holders(replaced: Container[int]) -> dict[int, list[tuple[dict[str, Any], str]]]:
    holders: dict[int, list[tuple[dict[str, Any], str]]] = {}
    for module in tuple(sys.modules.values()):
        names = module.__dict__ if type(module) is ModuleType else {}
        for name, value in tuple(names.items()):
            if identity(value) in replaced:
                holders.setdefault(identity(value), []).append((names, name))
    return holders


def _loaded(name: str) -> ModuleType | None:
    module = sys.modules.get(name)
    return None if module is None or _is_importing(module) else module


def _is_importing(module: ModuleType) -> bool:
    return bool(getattr(getattr(module, "__spec__", None), "_initializing", False))


def _apply(patch: Patch, module: ModuleType) -> None:
    try:
        patch(module)
    except Exception as error:  # noqa: BLE001 - an unknown version of a library is said, not thrown
        could_not(f"{module.__name__} ({patch.__name__})", error)


class Watcher(MetaPathFinder):
    """First in `sys.meta_path`: lets the others find a module, and waits for it to be run."""

    def __init__(self) -> None:
        self.looking: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _waiting or name in self.looking:
            return None
        self.looking.add(name)
        try:
            spec = _found_by_others(self, name, path, target)
        finally:
            self.looking.discard(name)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            _run_patches_after(name, spec.loader)
        return spec


def _found_by_others(
    watcher: Watcher, name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    for finder in sys.meta_path:
        if finder is not watcher and hasattr(finder, "find_spec"):
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
    return None


def _run_patches_after(name: str, loader: Loader) -> None:
    """The instance's own `exec_module` is set, so that the loader stays of its class."""
    plain = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        loader.__dict__.pop("exec_module", None)
        plain(module)
        for patch in _waiting.pop(name, []):
            _apply(patch, module)

    loader.exec_module = exec_module  # type: ignore[method-assign]
