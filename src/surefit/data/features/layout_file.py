"""The file beside the arrays that declares them: `surefit-layout.json`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import msgspec

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput
from surefit.user_files import read_plain

from .array_names import LAYOUT_FILE as LAYOUT_FILE
from .checks import shown, sizes_as_flags
from .files import read_headers
from .labels import usual
from .layout import Kind, Layout
from .shards import Form, shard_key

BAD_LAYOUT_FILE = refusal(
    "SF043", "bad-layout-file", "The layout file of a data folder cannot be read, or contradicts."
)

VERSION = 1
LARGEST = 1 << 30
"""Bytes: checksums of thousands of files."""


class ShardEntry(msgspec.Struct, frozen=True):
    """What was known of one file when the layout was written."""

    name: str
    rows: int
    bytes: int
    checksums: tuple[int, ...] = ()
    """CRC-32 of each block of rows, as they lie in the file."""

    part: int | None = None
    """The record batch of an Arrow file."""

    @property
    def key(self) -> str:
        return shard_key(self.name, self.part)


class LayoutFile(msgspec.Struct, frozen=True):
    """All that the file holds."""

    surefit_layout: int
    steps: int
    features: int
    dtype: str
    kind: str | None = None
    form: str = Form.PLAIN.value
    """`ids` or `bits` for packed rows."""

    rows_in_block: int = 0
    """How many rows one checksum stands for."""

    shards: tuple[ShardEntry, ...] = ()

    @property
    def layout(self) -> Layout:
        kind = Kind(self.kind) if self.kind else None
        return Layout(steps=self.steps, features=self.features, dtype=self.dtype, kind=kind)


@dataclass(frozen=True, slots=True)
class Checksums:
    """Of every block of rows, by `Shard.key`."""

    rows_in_block: int
    of: Mapping[str, tuple[int, ...]]


def read_layout_file(folder: Path) -> LayoutFile | None:
    """None where there is none; refuses one that cannot be understood."""
    path = folder / LAYOUT_FILE
    try:
        found = msgspec.json.decode(read_plain(path, LARGEST), type=LayoutFile)
        Layout(steps=found.steps, features=found.features, dtype=found.dtype).row_bytes  # noqa: B018
        Form(found.form)
        _ = found.layout
    except FileNotFoundError:
        return None
    except (
        *(OSError, msgspec.MsgspecError, ValueError, TypeError),
        *(ArithmeticError, RecursionError),
    ) as error:
        raise BadInput(_unreadable(path, error)) from None
    if found.surefit_layout != VERSION or min(found.steps, found.features) < 1:
        said = f"version {found.surefit_layout}, [rows, {found.steps}, {found.features}]"
        raise BadInput(_unreadable(path, said))
    return found


def settled(folder: Path, found: LayoutFile | None, declared: Layout | None) -> Layout:
    """What was declared, in the call or in the file; refuses two that contradict each other."""
    if declared is None and found is None:
        raise BadInput(not_declared(folder))
    if found is None:
        assert declared is not None
        return declared
    if declared is None:
        return found.layout
    kind = declared.kind or found.layout.kind
    if (declared.shape, declared.dtype) != (found.layout.shape, found.dtype) or (
        kind != (found.layout.kind or kind)
    ):
        raise BadInput(_contradicts(folder, found.layout, declared))
    return Layout(steps=declared.steps, features=declared.features, dtype=declared.dtype, kind=kind)


NOT_DECLARED = refusal(
    "SF036",
    "layout-not-declared",
    "The layout must be declared: a layer sized to whatever arrives trains on anything.",
)


def declare(
    folder: Path,
    steps: int | None = None,
    features: int | None = None,
    dtype: str | None = None,
    kind: Kind | str | None = None,
) -> Layout:
    """What arguments say, and what they leave open as the folder's layout file says it."""
    place = folder if folder.is_dir() else folder.parent
    found = read_layout_file(place)
    steps = found.steps if steps is None and found else steps
    features = found.features if features is None and found else features
    if steps is None or features is None:
        raise BadInput(not_declared(folder))
    made = Layout(
        steps=steps,
        features=features,
        dtype=dtype or (found.dtype if found else "float32"),
        kind=Kind(kind) if kind else None,
    )
    return settled(folder, found, made)


def not_declared(data: Path) -> Finding:
    """With the sizes of the arrays that are there, for the user to say whether they are right."""
    stored = usual(read_headers(data).headers)
    flags, python = "--steps STEPS --features FEATURES", "steps=..., features=..."
    if stored is not None and len(stored.shape) == 3:
        flags = sizes_as_flags(stored)
        python = flags.removeprefix("--").replace(" --", ", ").replace(" ", "=").replace(",=", ", ")
    seen = f"{shown(stored.shape)} {stored.dtype.name}" if stored else ""
    return NOT_DECLARED.finding(
        Place(str(data)),
        f"Nothing declares what a row of `{data}` is.",
        facts=(Fact(f"`{stored.name}`", seen),) if stored else (),
        fixes=(
            Fix(f"Declare it:  {flags}  (`{python}` in Python)."),
            Fix(
                f"Or write it down beside the data:  surefit inspect {quote(str(data))}"
                f" {flags} --write-layout"
            ),
        ),
    )


def _contradicts(folder: Path, found: Layout, declared: Layout) -> Finding:
    return BAD_LAYOUT_FILE.finding(
        Place(str(folder / LAYOUT_FILE)),
        f"`{LAYOUT_FILE}` declares {found}, and the call {declared}.",
        facts=(Fact("in the file", str(found)), Fact("in the call", str(declared))),
        fixes=(
            Fix("If the file is right, remove the flags; it is read automatically."),
            Fix("If the call is right, write the file again with `--write-layout`."),
        ),
    )


def _unreadable(path: Path, error: Exception | str) -> Finding:
    said = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
    return BAD_LAYOUT_FILE.finding(
        Place(str(path)),
        f"`{path.name}` is not a layout that this surefit can read.",
        fixes=(Fix("Remove it, and write it again with `surefit inspect DIR --write-layout`."),),
        python_said=said,
    )
