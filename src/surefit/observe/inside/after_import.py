"""Runs a patch when the program has finished importing a module, and not before."""

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from surefit.observe.inside.identity import identity
from surefit.observe.inside.spool import could_not

Patch = Callable[[ModuleType], None]

_waiting: dict[str, list[Patch]] = {}
_caught_up = False


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
    for module in tuple(sys.modules.values()):
        names = module.__dict__ if type(module) is ModuleType else {}
        for name, value in tuple(names.items()):
            old, new = replaced.get(identity(value), (None, None))
            if old is not None and old is value:
                names[name] = new


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
