"""Files that cannot be opened or are damaged: whatever a library says of them, as a finding."""

import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from surefit.errors import BadInput

from .faults import not_of_its_format, not_opened

FAILURES = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RuntimeError),
    *(SyntaxError, TypeError, ValueError, struct.error, tokenize.TokenError),
    *(zipfile.BadZipFile, zlib.error, msgspec.MsgspecError),
)
"""What readers were seen to raise on bytes that were changed at random, and their like."""

FORMATS = {
    ".npy": "array of NumPy",
    ".npz": "archive of arrays",
    ".safetensors": "safetensors file",
    ".arrow": "Arrow file",
    ".feather": "Arrow file",
    ".parquet": "Parquet file",
    ".pt": "file of torch",
    ".pth": "file of torch",
}


@contextmanager
def named(path: Path, name: str) -> Iterator[None]:
    """Around the reading of one file: failures become findings that name it."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            raise BadInput(not_opened(name, path, error)) from None
        raise BadInput(not_of_its_format(name, _format(path), error)) from None  # pyarrow says so
    except FAILURES as error:
        raise BadInput(not_of_its_format(name, _format(path), error)) from None


def _format(path: Path) -> str:
    return FORMATS.get(path.suffix.lower(), "file of arrays")
