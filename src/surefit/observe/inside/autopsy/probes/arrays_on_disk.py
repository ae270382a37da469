"""Arrays on disk whose last axis has a width: read in place, or in a file that the code names."""

import gc
import os
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.array_files import headers, shown
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes, is_a

ENDS = (".npy", ".npz", ".pt", ".pth")
MOST_FILES = 64
MOST_TEXTS = 5000


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    found = [one for one in gc.get_objects() if is_a(one, "numpy", "memmap")]
    wide = [one for one in found if one.shape and int(one.shape[-1]) == about["width"]]
    files: dict[str, list[int]] = {
        shown(str(file)): [int(size) for size in one.shape]
        for one in wide
        if (file := attributes(one).get("filename"))
    }
    for file in files_named(frames):
        for shape, _ in headers(file):
            if shape and shape[-1] == about["width"]:
                files.setdefault(shown(file), list(shape))
    return {"files": [{"file": file, "shape": shape} for file, shape in files.items()]}


def files_named(frames: Sequence[FrameType]) -> list[str]:
    """Files that exist, by what the user's own frames and code call them; of a folder, all."""
    found: dict[str, None] = {}
    for text in texts(frames):
        if text.endswith(ENDS) and os.path.isfile(text):
            found[os.path.abspath(text)] = None
        elif os.sep in text and os.path.isdir(text):
            inside = sorted(name for name in os.listdir(text) if name.endswith(ENDS))
            found |= {os.path.abspath(os.path.join(text, name)): None for name in inside}
        if len(found) >= MOST_FILES:
            break
    return list(found)[:MOST_FILES]


def texts(frames: Sequence[FrameType]) -> Iterator[str]:
    seen: set[str] = set()
    for frame in frames:
        if not own_code.own(frame.f_code):
            continue
        values = [*frame.f_locals.values(), *frame.f_globals.values()]
        held = [one for value in values for one in attributes(value).values()]
        for text in (*map(as_path, (*values, *held)), *constants(frame.f_code)):
            if text and text not in seen and len(seen) < MOST_TEXTS:
                seen.add(text)
                yield text


def as_path(value: Any) -> str:
    if type(value) is str:
        return value
    return os.fspath(value) if is_a(value, "pathlib", "PurePath") else ""


def constants(code: CodeType) -> Iterator[str]:
    for one in code.co_consts:
        if type(one) is str:
            yield one
        elif isinstance(one, CodeType):
            yield from constants(one)
