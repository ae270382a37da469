"""Headers of `.safetensors` files: their tensors lie in the file as they are."""

from math import prod
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from surefit.doctor.findings import Finding
from surefit.errors import BadInput

from .faults import choose, no_numbers, not_of_its_format, wrong_size
from .headers import Header, state_of

DTYPES = {
    "BOOL": "bool",
    **{f"I{bits}": f"<i{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"<u{bits // 8}" for bits in (8, 16, 32, 64)},
    **{f"F{bits}": f"<f{bits // 8}" for bits in (16, 32, 64)},
}
LONGEST_HEADER = 100_000_000
"""The format's own limit, in bytes."""


class Tensor(msgspec.Struct):
    """One entry of the header."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


def safetensors_headers(path: Path, name: str) -> tuple[Header, ...]:
    with path.open("rb") as file:
        state = state_of(file.fileno())
        length = int.from_bytes(file.read(8), "little")
        if state.size < 8 or length > min(LONGEST_HEADER, state.size - 8):
            said = f"a header of {length:,} bytes in a file of {state.size:,}"
            raise BadInput(_damaged(name, said))
        tensors = _tensors(file.read(length))
    inside = choose(name, "tensor", {key: one.shape for key, one in tensors.items()})
    if isinstance(inside, Finding):
        raise BadInput(inside)
    dtype = _dtype(tensors[inside], name)
    begin = 8 + length
    _check_size(tensors, inside, begin, state.size, name)
    offset = begin + tensors[inside].data_offsets[0]
    shape = tensors[inside].shape
    return (Header(path, name, shape, dtype, state.size, state.changed_ns, offset, inside=inside),)


def _tensors(raw: bytes) -> dict[str, Tensor]:
    whole = msgspec.json.decode(raw, type=dict[str, Any])
    whole.pop("__metadata__", None)
    return msgspec.convert(whole, dict[str, Tensor])


def _dtype(tensor: Tensor, name: str) -> np.dtype:
    if tensor.dtype not in DTYPES:
        fix = "Store the features as F32 or F16: NumPy has no such numbers."
        raise BadInput(no_numbers(name, tensor.dtype, fix))
    return np.dtype(DTYPES[tensor.dtype])


def _check_size(tensors: dict[str, Tensor], inside: str, begin: int, size: int, name: str) -> None:
    chosen = tensors[inside]
    first, last = chosen.data_offsets
    row_bytes = prod(chosen.shape[1:]) * _dtype(chosen, name).itemsize
    length = prod(chosen.shape) * _dtype(chosen, name).itemsize
    if min(chosen.shape, default=0) < 0 or last - first != length:
        said = f"`{inside}` {list(chosen.shape)} needs {length:,} bytes and has {last - first:,}"
        raise BadInput(_damaged(name, said))
    expected = begin + max(one.data_offsets[1] for one in tensors.values())
    if size != expected:
        found = wrong_size(name, size, expected, chosen.shape, begin + first, row_bytes)
        raise BadInput(found)


def _damaged(name: str, said: str) -> Finding:
    return not_of_its_format(name, "safetensors file", said)
