"""Which names a module or the class of a value has, and which of some full names exist."""

import builtins
import inspect
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module, metadata
from types import FrameType
from typing import Any

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.expressions import MISSING
from surefit.observe.inside.autopsy.questions import Said, value_in


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    owner = _owner(frames, about)
    if owner is None:
        return None
    known = dir(owner)
    missing = [name for name in about["names"] if not _has(owner, str(name))]
    module = owner.__name__ if inspect.ismodule(owner) else owner.__module__
    package = module.partition(".")[0]
    return {
        "owner": owner.__name__,
        "package": package,
        "version": _version(package),
        "missing": missing,
        "near": {name: get_close_matches(name, known, 3, 0.8) for name in missing},
        "exist": [one for one in about["exist"] if _exists(str(one), owner)],
    }


def _owner(frames: Sequence[FrameType], about: dict[str, Any]) -> Any:
    """A module, or the class of a value in a frame; None for what is the user's own."""
    if about.get("module"):
        module = sys.modules.get(str(about["module"]))
        file = getattr(module, "__file__", None)
        return None if module is None or (file and own_code.is_own(str(file))) else module
    value = value_in(frames, about)
    if value is MISSING:
        return None
    owner = value if inspect.ismodule(value) or inspect.isclass(value) else type(value)
    return None if inspect.isclass(owner) and own_code.own_class(owner) else owner


def _has(owner: Any, name: str) -> bool:
    try:
        getattr(owner, name)
    except Exception:  # noqa: BLE001 - a module that gives names on demand can fail in any way
        return False
    return True


def _exists(full: str, owner: Any) -> bool:
    """`torch.optim.AdamW`; `.items` is asked of the owner itself, `float` is Python's own."""
    module, _, name = full.rpartition(".")
    if full.startswith("."):
        return _has(owner, name)
    if not module:
        return hasattr(builtins, name)
    try:
        return _has(import_module(module), name)
    except ImportError:
        return False


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
