"""Opens a file, a folder or a name as raw rows."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NoReturn

from surefit.did_you_mean import suggestion
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, refused_as
from surefit.user_files import look_at, look_into, open_plain

from .csv_files import read_csv
from .in_memory import ARGUMENT, ENDING, read_stored
from .json_files import read_json, read_json_lines
from .raw import RawRows
from .tables import (
    count_parquet,
    is_datasets_folder,
    load_datasets_folder,
    load_hub,
    read_parquet,
)
from .text_files import read_text

NO_SUCH_SOURCE = refusal(
    "SF101",
    "no-such-source",
    "Rows come from a file, from a folder, from the hub as `owner/name`, or from `embedded` and "
    "`embedded-text`.",
)
UNKNOWN_KIND = refusal(
    "SF102",
    "unknown-kind-of-file",
    "The file extension determines the reader.",
)
EMPTY_SOURCE = refusal("SF103", "empty-source", "There is nothing to learn from no rows.")
UNCLEAR_FOLDER = refusal(
    "SF115",
    "unclear-folder",
    "A folder is read if `datasets` saved it, or if exactly one file of rows is in it.",
)
UNREADABLE_ROWS = refusal(
    "SF118",
    "unreadable-rows",
    "A file of rows cannot be opened, or holds something at which its reader gave up.",
)

Reader = Callable[[Path, str], RawRows]

READERS: dict[str, Reader] = {
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": partial(read_csv, separator="\t"),
    ".parquet": read_parquet,
    ".txt": read_text,
    ENDING: read_stored,
}
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+(:[\w.-]+)?")


@dataclass(frozen=True, slots=True)
class Source:
    """Raw rows that can be read once, and what was chosen on the way to them."""

    name: str
    rows: RawRows
    notes: tuple[str, ...] = ()


def open_source(name: str) -> Source:
    """Refuses at once what cannot be opened; faults inside come as the rows are read."""
    if (own := _embedded(name)) is not None:
        return _open_file(own, name)
    path = Path(name)
    with refused_as(partial(_unreadable, Place(name))):
        if path.is_dir():
            return _open_folder(path, name)
        if path.exists() or path.is_symlink():
            return _open_file(path, name)
    if _is_hub_name(path, name):
        rows, notes = load_hub(name)
        return Source(name, _not_empty(rows, name), notes)
    _refuse_missing(path, name)


def count_rows(name: str) -> int | None:
    """About how many rows a source has, where that is known in a moment, for a bar to fill."""
    path = _embedded(name) or Path(name)
    try:
        if not path.is_file():
            return None
        match path.suffix.lower():
            case ".parquet":
                return count_parquet(path)
            case ".csv" | ".tsv":
                return _records(path)
            case ".jsonl" | ".ndjson" | ".rows":
                return _lines(path)
    except OSError:
        pass  # a file that cannot be read is for `open_source` to refuse
    return None


def _embedded(name: str) -> Path | None:
    """What comes with the package under this name."""
    from surefit.embedded import ROWS, TEXT

    return {"embedded": ROWS, "embedded-text": TEXT}.get(name)


def _lines(path: Path) -> int:
    with open_plain(path) as file:
        return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))


def _records(path: Path) -> int:
    """Ends of lines outside of quotes, but for the header's."""
    ends, quoted, last = 0, 0, b"\n"
    with open_plain(path) as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            pieces = part.split(b'"')
            ends += sum(piece.count(b"\n") for piece in pieces[quoted::2])
            quoted ^= (len(pieces) - 1) % 2
            last = part[-1:]
    return max(ends + (last != b"\n") - 1, 0)


def _open_file(path: Path, name: str) -> Source:
    read = READERS.get(path.suffix.lower())
    if read is None:
        raise BadInput(_unknown_kind(path, name))
    name = ARGUMENT if path.suffix == ENDING else name
    look_at(path)
    return Source(name, _not_empty(read(path, name), name, path))


def _open_folder(path: Path, name: str) -> Source:
    if is_datasets_folder(path):
        look_into(path)
        rows, notes = load_datasets_folder(path, name)
        return Source(name, _not_empty(rows, name), notes)
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in READERS)
    if len(files) != 1:
        raise BadInput(_unclear(name, files))
    inside = str(Path(name) / files[0].name)
    return Source(name, _open_file(files[0], inside).rows, (f"read `{inside}`",))


def _is_hub_name(path: Path, name: str) -> bool:
    """Not so if its end or its folder says that a file here was meant."""
    looks_local = path.suffix.lower() in READERS or path.parent.is_dir()
    return not looks_local and HUB_NAME.fullmatch(name) is not None


def _not_empty(rows: RawRows, name: str, path: Path | None = None) -> RawRows:
    readable = _readable(rows, name)
    first = next(readable, None)
    if first is None:
        raise BadInput(_empty(name, path))
    yield from chain([first], readable)


def _readable(rows: RawRows, name: str) -> RawRows:
    """The rows; if their reader gives up, that is told with the last row it had read."""
    last = Place(name)
    with refused_as(lambda error: _unreadable(last, error)):
        for row in rows:
            yield row
            last = row.place


def _refuse_missing(path: Path, name: str) -> NoReturn:
    folder = path.parent
    beside = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    seen = _listed(beside) if folder.is_dir() else "no such folder"
    raise BadInput(
        NO_SUCH_SOURCE.finding(
            Place(name),
            f"There is no file or folder `{name}`.{suggestion(path.name, beside)}",
            facts=(Fact(f"in `{folder}`", seen),),
            fixes=(Fix("Give a path from the folder you are in, a hub name, or `embedded`."),),
        )
    )


def _unreadable(last: Place, error: Exception) -> Finding:
    """`last` is the row after which reading ended, or the file where none was read."""
    after = "" if last == Place(last.file) else f" after {last}"
    reason = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
    return UNREADABLE_ROWS.finding(
        last,
        f"`{last.file}` cannot be read{after}{reason}.",
        fixes=(Fix("Write the file again, or give rows in another format."),),
        python_said="" if reason else f"{type(error).__name__}: {error}",
    )


def _unknown_kind(path: Path, name: str) -> Finding:
    return UNKNOWN_KIND.finding(
        Place(name),
        f"The extension of `{path.name}` is not a known format.",
        facts=(
            Fact("its end", path.suffix or "none"),
            Fact("known", ", ".join(READERS)),
        ),
        fixes=(Fix("Convert the file to one of these, or name it by what it holds."),),
    )


def _empty(name: str, path: Path | None) -> Finding:
    size = path.stat().st_size if path else None
    return EMPTY_SOURCE.finding(
        Place(name),
        f"`{name}` is empty." if size == 0 else f"`{name}` holds no rows.",
        facts=(Fact("size", f"{size} bytes"),) if size is not None else (),
        fixes=(Fix("Give a file with rows in it."),),
    )


def _unclear(name: str, files: list[Path]) -> Finding:
    found = f"{len(files)} files of rows" if files else "no file of rows"
    return UNCLEAR_FOLDER.finding(
        Place(name),
        f"The folder `{name}` holds {found}, and `datasets` did not save it.",
        facts=(
            Fact("files of rows", _listed([file.name for file in files])),
            Fact("known", ", ".join(READERS)),
        ),
        fixes=(Fix(f"Give the path of one file, as `{name}/FILE`."),),
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return (", ".join(sorted(names)[:10]) + more) or "nothing"
