"""Which files of a folder hold arrays, by stated rules, and the headers in them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from errno import EISDIR
from pathlib import Path

from surefit.data.free_memory import free_memory
from surefit.did_you_mean import suggestion
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.user_files import look_at

from .arrow_arrays import arrow_headers
from .damaged_files import named
from .faults import not_opened, pickled, too_large, unreadable
from .headers import Header
from .npy_files import npy_headers
from .npz_files import npz_headers
from .parquet_arrays import parquet_headers
from .safetensors_files import safetensors_headers
from .torch_files import torch_headers

NO_ARRAYS = refusal("SF030", "no-arrays", "A data folder holds no file that arrays are read from.")

ReadHeaders = Callable[[Path, str], tuple[Header, ...]]

READERS: dict[str, ReadHeaders] = {
    ".npy": npy_headers,
    ".npz": npz_headers,
    ".safetensors": safetensors_headers,
    ".arrow": arrow_headers,
    ".feather": arrow_headers,
    ".parquet": parquet_headers,
    ".pt": torch_headers,
    ".pth": torch_headers,
}
"""How a name ends -> what reads the header; every other file is passed over, and named."""

MOST_AXES = 6
"""What an array is, if not what is declared, is found by trying orders of its axes."""
SPARED = 4
"""The part of the free memory that is decoded at once: looking at values takes as much again."""

PICKLES = (".pkl", ".pickle", ".joblib", ".p")


@dataclass(frozen=True, slots=True)
class Files:
    """What a folder holds: headers of its arrays, what is wrong, what was passed over."""

    folder: Path
    headers: tuple[Header, ...]
    faults: tuple[Finding, ...]
    passed_over: tuple[str, ...]
    """Names, and why where it is not their end."""


def read_headers(data: Path) -> Files:
    """Of a folder's files, or of one file, in natural order of names; no row is read."""
    folder, paths, passed_over = array_paths(data)
    headers: list[Header] = []
    faults: list[Finding] = []
    for path in paths:
        try:
            headers += headers_of(path, path.name)
        except BadInput as bad:
            faults += bad.findings
    return Files(folder, tuple(headers), tuple(faults), tuple(passed_over))


def headers_of(path: Path, name: str) -> tuple[Header, ...]:
    end = path.suffix.lower()
    if end in PICKLES:
        raise BadInput(pickled(name, "is a pickle by its name"))
    with named(path, name):
        if path.is_dir():
            raise IsADirectoryError(EISDIR, "a folder", str(path))
        look_at(path)
        headers = READERS[end](path, name)
        refuse_beyond_bounds(headers)
        return headers


def refuse_beyond_bounds(headers: Sequence[Header]) -> None:
    """A few kilobytes can promise, or be decompressed to, more than there is memory."""
    budget = free_memory() // SPARED
    for header in headers:
        if len(header.shape) > MOST_AXES:
            reason = f"is an array of {len(header.shape)} axes; rows have {MOST_AXES} at most"
            raise BadInput(unreadable(header.name, reason, "Store it as [rows, steps, features]."))
        if header.at_once > budget:
            needs = f"{header.at_once:,} bytes of memory at once, and {budget:,} can be spared"
            raise BadInput(too_large(header.name, needs))


def array_paths(data: Path) -> tuple[Path, list[Path], list[str]]:
    """The folder, its files of arrays in natural order, and what was passed over."""
    try:
        is_folder = data.is_dir()
    except OSError as error:  # a name that is too long
        raise BadInput(not_opened(str(data), data, error)) from None
    if not is_folder:
        if not data.exists() and not data.is_symlink():
            raise BadInput(_nowhere(data))
        if data.suffix.lower() not in (*READERS, *PICKLES):
            raise BadInput(
                _no_arrays(data.parent, [data.name], [], f"`{data.name}` is not a file of arrays.")
            )
        return data.parent, [data], []
    try:
        every = sorted(data.iterdir(), key=lambda path: natural(path.name))
    except OSError as error:
        raise BadInput(not_opened(str(data), data, error)) from None
    wanted = [path for path in every if is_array_file(path)]
    passed_over = [path.name for path in every if path not in wanted]
    if not wanted:
        folders = [path.name for path in every if path.is_dir() and _holds_arrays(path)]
        headline = f"`{data}` holds no file of arrays."
        raise BadInput(_no_arrays(data, passed_over, folders, headline))
    return data, wanted, passed_over


def is_array_file(path: Path) -> bool:
    """By its name: a known end, and neither `.` nor `_` at its beginning."""
    return path.suffix.lower() in (*READERS, *PICKLES) and not path.name.startswith((".", "_"))


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key under which `part-2` comes before `part-10`."""
    parts = re.findall(r"\d+|\D+", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def _holds_arrays(folder: Path) -> bool:
    try:
        return any(is_array_file(path) for path in folder.iterdir())
    except OSError:
        return False


def _no_arrays(folder: Path, seen: list[str], folders: list[str], headline: str) -> Finding:
    fixes = [Fix(f"Give one of its folders:  {folder / one}") for one in folders[:3]]
    return NO_ARRAYS.finding(
        Place(str(folder)),
        headline,
        facts=(
            Fact(
                "in it", ", ".join(seen[:10]) + (" and more" if len(seen) > 10 else "") or "nothing"
            ),
            Fact("read", f"files that end with {', '.join(READERS)}"),
            Fact("passed over", "other ends, and names that begin with `.` or `_`"),
        ),
        fixes=fixes or (Fix("Give the folder that holds the arrays."),),
    )


def _nowhere(data: Path) -> Finding:
    beside = [path.name for path in data.parent.iterdir()] if data.parent.is_dir() else []
    return NO_ARRAYS.finding(
        Place(str(data)),
        f"There is no file or folder `{data}`.{suggestion(data.name, beside)}",
        facts=(Fact(f"in `{data.parent}`", ", ".join(sorted(beside)[:10]) or "nothing"),),
        fixes=(Fix("Give a path from the folder you are in."),),
    )
