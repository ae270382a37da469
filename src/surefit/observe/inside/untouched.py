"""Parts of the standard library as they were before the program could replace any: an observer that
used the program's own would be seen by it, and could fail with it."""

import json
import os.path
from collections.abc import Callable
from importlib.util import find_spec, module_from_spec
from os import close, getpid, open, write
from types import ModuleType


def _again(name: str) -> ModuleType:
    """A module of its own, whose functions call each other and no replacement."""
    spec = find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_path = _again(os.path.__name__)
abspath: Callable[[str], str] = _path.abspath
realpath: Callable[[str], str] = _path.realpath
encode = json.JSONEncoder().encode


def append(file: str, text: bytes) -> None:
    """Creates the file if need be."""
    descriptor = open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while text:
            text = text[write(descriptor, text) :]
    finally:
        close(descriptor)


__all__ = ["abspath", "append", "encode", "getpid", "realpath"]
