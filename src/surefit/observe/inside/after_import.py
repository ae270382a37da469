"""Runs a patch when the program has finished importing a module, and not before."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from surefit.observe.inside.spool import could_not

Patch = Callable[[ModuleType], None]

_waiting: dict[str, list[Patch]] = {}


def after_import(module: str) -> Callable[[Patch], Patch]:
    """Marks a function of a module, to be called once, right after that module is first run."""

    def mark(patch: Patch) -> Patch:
        loaded = sys.modules.get(module)
        if loaded is not None and not _is_importing(loaded):
            _apply(patch, loaded)
        else:
            _waiting.setdefault(module, []).append(patch)
        return patch

    return mark


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
