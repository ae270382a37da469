"""Scripts read without running them: paths -> files -> observations."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from tokenize import detect_encoding

from surefit.doctor.observations import Script
from surefit.doctor.recording import parsed
from surefit.source.notebooks import (
    LARGEST_NOTEBOOK,
    SUFFIX,
    NoPython,
    NotANotebook,
    is_notebook,
    read_notebook,
)
from surefit.source.reading import parse
from surefit.user_files import read_plain

NOT_LOOKED_INTO = ("node_modules", "site-packages", "__pycache__")
LARGEST_SCRIPT = 5_000_000
"""Bytes; what is parsed takes a hundred times as many."""
ENVIRONMENT = "pyvenv.cfg"
"""A file that every virtual environment has, whatever its folder is called."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that is no Python, and why; the line where that is known."""

    file: str
    why: str
    line: int | None = None
    is_code: bool = True
    """It should be Python: not so a notebook of another language."""


def python_files(paths: Iterable[Path]) -> list[Path]:
    """Files as given, and scripts and notebooks below folders, each once, in order.

    Hidden folders, environments and installed packages below a folder are passed over.
    """
    found = (file for path in paths for file in (below(path) if path.is_dir() else [path]))
    return list({os.path.realpath(file): file for file in found}.values())


def below(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if is_looked_into(Path(root, name)))
        yield from (Path(root, name) for name in sorted(files) if name.endswith((".py", SUFFIX)))


def is_looked_into(folder: Path) -> bool:
    hidden = folder.name.startswith(".") or folder.name in NOT_LOOKED_INTO
    return not hidden and not (folder / ENVIRONMENT).is_file()


def read_script(path: Path, folder: Path) -> Script | Unreadable:
    """A file as text, line ends and byte order mark as they are; named as seen from `folder`.

    Of a notebook the script that it makes.
    """
    whole = Path(os.path.normpath(path.absolute()))
    file = str(whole.relative_to(folder) if whole.is_relative_to(folder) else path)
    try:
        raw = read_plain(path, LARGEST_NOTEBOOK if is_notebook(path) else LARGEST_SCRIPT)
        text = read_notebook(raw).text if is_notebook(path) else decoded(raw)
    except OSError as error:
        return Unreadable(file, f"it cannot be read: {error.strerror}")
    except NotANotebook as error:
        return Unreadable(file, str(error), is_code=not isinstance(error, NoPython))
    except (SyntaxError, ValueError, LookupError) as error:
        return Unreadable(file, f"it cannot be decoded: {error}")
    return script_of(file, text)


def script_of(file: str, text: str) -> Script | Unreadable:
    return Script(file, text) if parsed(file, text) else why_not(file, text)


def decoded(raw: bytes) -> str:
    """By the file's own encoding comment; a byte order mark stays."""
    encoding, _ = detect_encoding(BytesIO(raw).readline)
    return raw.decode("utf-8" if encoding == "utf-8-sig" else encoding)


def why_not(file: str, text: str) -> Unreadable:
    """What Python says about a text that it cannot parse."""
    try:
        parse(text)
    except SyntaxError as error:
        return Unreadable(file, error.msg, error.lineno)
    except (ValueError, RecursionError, MemoryError) as error:
        return Unreadable(file, str(error) or "it is nested too deeply")
    raise AssertionError(file)
