"""Headers of files with arrays: shapes and types, without the numbers."""

import os
import sys
import zipfile
from collections.abc import Iterator
from typing import IO, Any

Header = tuple[tuple[int, ...], str]
MOST_INSIDE = 20


def headers(file: str) -> Iterator[Header]:
    """Of the arrays in a `.npy`, `.npz` or `.pt`; nothing for other files and broken ones."""
    try:
        if file.endswith(".npy"):
            with open(file, "rb") as opened:
                yield of_array(opened)
        elif file.endswith(".npz"):
            with zipfile.ZipFile(file) as archive:
                for name in archive.namelist()[:MOST_INSIDE]:
                    with archive.open(name) as opened:
                        yield of_array(opened)
        elif file.endswith((".pt", ".pth")):
            yield from of_tensors(file)
    except Exception:  # noqa: BLE001 - whatever a file holds, it is only looked at
        return


def of_array(opened: IO[bytes]) -> Header:
    form = sys.modules["numpy"].lib.format
    version = form.read_magic(opened)
    read = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
    shape, _, dtype = read(opened)
    return tuple(int(size) for size in shape), str(dtype)


def of_tensors(file: str) -> Iterator[Header]:
    """Nothing of it is run, and no numbers are read."""
    torch = sys.modules["torch"]
    held = torch.load(file, map_location="meta", weights_only=True, mmap=True)
    inside: list[Any] = [held]
    inside += list(held.values()) if isinstance(held, dict) else []
    inside += list(held) if isinstance(held, list | tuple) else []
    for one in inside[: MOST_INSIDE + 1]:
        if isinstance(one, torch.Tensor):
            yield tuple(int(size) for size in one.shape), str(one.dtype).removeprefix("torch.")


def shown(file: str) -> str:
    """As seen from the folder that the program runs in, if it lies there."""
    return os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file
