"""Files that cannot be opened or are damaged: whatever a library says of them, as a finding."""

from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from surefit.doctor.findings import Finding
from surefit.errors import refused_as

from .faults import not_of_its_format, not_opened, too_large

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


def named(path: Path, name: str) -> AbstractContextManager[None]:
    """Around the reading of one file: failures become findings that name it."""
    return refused_as(partial(_finding, path, name))


def _finding(path: Path, name: str, error: Exception) -> Finding:
    if isinstance(error, OSError) and error.errno is not None:  # others are pyarrow's
        return not_opened(name, path, error)
    if isinstance(error, MemoryError):
        return too_large(name, "more memory than there is", error)
    format_ = FORMATS.get(path.suffix.lower(), "file of arrays")
    return not_of_its_format(name, format_, error)
