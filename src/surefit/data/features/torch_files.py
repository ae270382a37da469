"""Headers of `.pt` files, read without unpickling; one tensor alone lies in the file as it is."""

import pickle
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, is_zipfile

import numpy as np

from surefit.doctor.findings import Finding
from surefit.errors import BadInput

from .faults import choose, no_numbers, pickled
from .headers import Header, state_of
from .npz_files import member_begin

SEVERAL = "`torch.save` stored more than one plain tensor in it"
ALONE = "tensor"
"""What a tensor is called that is not in a dictionary."""


def torch_headers(path: Path, name: str) -> tuple[Header, ...]:
    tensors = load_tensors(path, name, mapped=True)
    inside = choose(name, "tensor", {key: tuple(one.shape) for key, one in tensors.items()})
    if isinstance(inside, Finding):
        raise BadInput(inside)
    tensor = tensors[inside]
    dtype = _dtype(tensor, name)
    with path.open("rb") as file:
        state = state_of(file.fileno())
    offset = _in_place(path, tensor) if len(tensors) == 1 else None
    return (
        Header(
            path,
            name,
            tuple(tensor.shape),
            dtype,
            state.size,
            state.changed_ns,
            offset,
            inside=inside,
            whole="" if offset is not None else SEVERAL,
        ),
    )


def load_tensors(path: Path, name: str, mapped: bool = False) -> dict[str, Any]:
    """Every tensor by its name; nothing but tensors and plain containers is made.

    Mapped, so that no value is read for a shape; values are not to be read from a mapped file, for
    one that is cut off meanwhile would end the process.
    """
    import torch

    try:
        how = {"mmap": True} if mapped and is_zipfile(path) else {}  # the older format cannot be
        loaded = torch.load(path, map_location="cpu", weights_only=True, **how)
    except pickle.UnpicklingError as error:
        raise BadInput(pickled(name, "can only be read by unpickling", error)) from None
    if isinstance(loaded, torch.Tensor):
        return {ALONE: loaded}
    named = loaded.items() if isinstance(loaded, dict) else enumerate(loaded)
    return {str(key): one for key, one in named if isinstance(one, torch.Tensor)}


def _dtype(tensor: Any, name: str) -> np.dtype:
    import torch

    try:
        return torch.empty(0, dtype=tensor.dtype).numpy().dtype
    except TypeError:
        word = str(tensor.dtype).removeprefix("torch.")
        fix = "Store the features as float32 or float16: NumPy has no such numbers."
        raise BadInput(no_numbers(name, word, fix)) from None


def _in_place(path: Path, tensor: Any) -> int | None:
    """Where the values lie, if the file holds one storage and the tensor is the whole of it."""
    length = tensor.untyped_storage().nbytes()
    whole = tensor.is_contiguous() and tensor.numel() * tensor.element_size() == length
    try:
        with path.open("rb") as file, ZipFile(file) as archive:
            infos = archive.infolist()
            kept = [one for one in infos if one.filename.split("/")[-2:-1] == ["data"]]
            orders = [one for one in infos if one.filename.endswith("/byteorder")]
            if any(archive.read(one) != b"little" for one in orders):
                return None
            one = kept[0]
            stored = len(kept) == 1 and one.compress_type == ZIP_STORED
            if whole and stored and one.file_size == length:
                return member_begin(file, one)
    except (BadZipFile, IndexError):
        pass  # the older format: a pickle with storages behind it
    return None
