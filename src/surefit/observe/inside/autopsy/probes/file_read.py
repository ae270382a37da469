"""The file that a library was reading whole: its size and, where that is short, what it holds."""

import os
from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.array_files import headers, shown
from surefit.observe.inside.autopsy.questions import Said

NAMES = ("file", "f", "filepath_or_buffer", "path", "path_or_buf", "filename", "source", "io")
"""What functions that read a file call it."""


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    """By the argument of the innermost function of this name."""
    for frame in reversed(frames):
        if frame.f_code.co_name == about["function"]:
            for name in NAMES:
                file = _path(frame.f_locals.get(name))
                if file is not None and os.path.isfile(file):
                    return {"file": shown(file), "bytes": os.path.getsize(file)} | header(file)
    return None


def _path(value: Any) -> str | None:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str):
        value = getattr(value, "name", None) if hasattr(value, "read") else None
    return os.path.abspath(value) if isinstance(value, str) else None


def header(file: str) -> dict[str, Any]:
    """Of a `.npy`: its shape and dtype, without the numbers."""
    for shape, dtype in headers(file) if file.endswith(".npy") else ():
        return {"shape": list(shape), "dtype": dtype}
    return {}
