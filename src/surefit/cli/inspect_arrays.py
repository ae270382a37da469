"""`surefit inspect` on feature arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from surefit.data.features.array_names import is_array_data
from surefit.render import console, outcome
from surefit.settings import as_dict, at_least, check, key_of

if TYPE_CHECKING:
    from surefit.data.features.inspect_arrays import Inspected
    from surefit.data.features.inspection import ArrayInspection
    from surefit.data.features.layout import Layout
    from surefit.doctor.findings import Finding

KindName = Literal["one-hot", "multi-hot", "continuous"]
DtypeName = Literal[
    "float16",
    "float32",
    "float64",
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

WayName = Literal[
    "flattened",
    "flattened-transposed",
    "swapped",
    "reshaped",
    "merged",
    "merged-steps-first",
    "unbatched",
    "unbatched-swapped",
    "steps-rows-features",
    "steps-features-rows",
    "features-rows-steps",
    "features-steps-rows",
]


@dataclass(frozen=True)
class InspectArrays:
    """Feature arrays `[rows, steps, features]` to inspect."""

    data: Path
    """A folder of `.npy`, `.npz`, safetensors, Arrow, Feather, Parquet or `.pt` files; or one."""

    _: KW_ONLY

    steps: int | None = None
    """Steps per row; by default from the folder's layout file."""

    features: int | None = None
    """Features per step; by default from the folder's layout file."""

    dtype: DtypeName | None = None
    """The stored dtype; by default from the layout file, else float32."""

    kind: KindName | None = None
    """The kind of features: one 1 per step, several, or any finite numbers."""

    taken_as: Annotated[WayName | None, Parameter(name="--as")] = None
    """How the rows are stored, if neither shapes nor values decide it."""

    write_layout: bool = False
    """Write the layout and checksums of all rows to `surefit-layout.json` in the folder."""

    mend_to: Path | None = None
    """Rewrite the rows in the declared layout to this new folder, if the conversion is certain."""

    model: str | None = None
    """A model folder, run folder or `config.json` to compare the layout with."""

    batch_size: int = 256
    """Rows per batch."""

    max_memory_gb: float = 12.0
    """Memory limit for loading, in GB."""

    verify: bool = True
    """Check every row: finite values of the declared kind, and its checksum if there is one."""

    examples: int = 2
    """Number of rows to display."""

    def __post_init__(self) -> None:
        check(
            self,
            steps=at_least(1),
            features=at_least(1),
            batch_size=at_least(1),
            max_memory_gb=at_least(0, itself=False),
            examples=at_least(0),
        )


ARRAY_FLAGS = ("--steps", "--features", "--mend-to", "--write-layout", "--kind", "--as")
NOT_DATA = ("--mend-to", "--model", "--model-name", "--as")
"""Flags whose value is no data, although it can be a path."""

EMPTY: Mapping[str, object] = {}


def speaks_of_arrays(tokens: Sequence[str], config: Mapping[str, object] = EMPTY) -> bool:
    """Whether a call of `surefit inspect` is about arrays: by its flags, or by its files."""
    if any(f"--{key_of(name).replace('_', '-')}" in ARRAY_FLAGS for name in config):
        return True
    if "data" in config and is_array_data(Path(str(config["data"]))):
        return True
    before = ""
    for token in tokens[1:]:
        flag = token.partition("=")[0].replace("_", "-")
        if flag in ARRAY_FLAGS:
            return True
        named = before in NOT_DATA or token.startswith("-")
        if not named and is_array_data(Path(token)):
            return True
        before = flag
    return False


def inspect(settings: Annotated[InspectArrays, Parameter(name="*")]) -> int:
    """Inspect feature arrays: compare them with the declared layout, and repair them.

    Headers and a sample of every file are read: shapes, kinds of values, ranges. If
    the arrays differ from the declaration, surefit determines how (flattened,
    swapped axes, merged, pooled, other data) from shapes and values. With
    `--model`, it checks that the model fits. The exit code is 1 if anything is
    wrong.

    surefit inspect data --steps 20 --features 271
    surefit inspect data --steps 20 --features 271 --mend-to mended
    surefit inspect data --steps 20 --features 271 --kind one-hot --write-layout
    surefit inspect data --model runs/pretrain-1 --batch-size 256
    surefit inspect rows.jsonl --help            for text rows
    """
    from surefit.data.features.inspect_arrays import Declared, inspect_arrays
    from surefit.data.features.layout import Kind
    from surefit.render import array_inspection

    declared = Declared(
        settings.steps,
        settings.features,
        settings.dtype,
        Kind(settings.kind) if settings.kind else None,
    )
    with console.progress("Verifying rows", None) as bar:
        found = inspect_arrays(
            settings.data,
            declared,
            chosen=settings.taken_as,
            examples=settings.examples,
            verify=settings.verify and not settings.write_layout,
            anew=settings.write_layout,
            progress=bar.step,
        )
    seen, misfitting = beside_model(settings, found)
    told = (*found.findings, *misfitting)
    part = {"settings": as_dict(settings), **array_inspection.as_json(seen)}
    outcome.add_part("inspection", part)
    if not console.quiet:
        array_inspection.show(seen, console.out)
    if told:
        console.say()
    if settings.mend_to and all(one.code in MENDABLE for one in found.findings):
        outcome.tell(*misfitting)
        return mend_to(settings, found, settings.mend_to)
    outcome.tell(*told)
    if settings.write_layout and not found.findings:
        write_layout_file(settings, found)
    return 1 if told else 0


MENDABLE = ("SF037", "SF038", "SF039")
"""Shape, dtype and order: what mending is for. Other faults must be mended where they are made."""


def beside_model(
    settings: InspectArrays, found: "Inspected"
) -> tuple["ArrayInspection", tuple["Finding", ...]]:
    if not settings.model or not found.layout:
        return found.seen, ()
    from surefit.models.sizes import fits, misfits, read_sizes

    sizes = read_sizes(settings.model)
    lines = fits(sizes, found.layout, settings.batch_size, settings.max_memory_gb)
    return replace(found.seen, fits=lines), misfits(sizes, found.layout, lines)


def declared_layout(settings: InspectArrays, found: "Inspected") -> "Layout":
    from surefit.data.features.layout_file import not_declared
    from surefit.errors import BadInput

    if found.layout is None:
        raise BadInput(not_declared(settings.data))
    return found.layout


def mend_to(settings: InspectArrays, found: "Inspected", out: Path) -> int:
    """What was wrong is told in a line each; what cannot be mended is refused in full."""
    from surefit.data.features.mend import mend

    layout = declared_layout(settings, found)
    with console.progress("Rewriting rows", None) as bar:
        made = mend(settings.data, out, layout, settings.taken_as, bar.step)
    for one in found.findings:
        console.say(f"Was: {one.headline}")
    console.say(
        f"Rewritten: {made.rows:,} rows in {len(made.shards)} files, read back and compared."
        f" The originals are unchanged.\nTo use them:  {out}"
    )
    return 0


def write_layout_file(settings: InspectArrays, found: "Inspected") -> None:
    from surefit.data.features.write_layout import write_layout

    declared_layout(settings, found)
    assert found.shards is not None  # nothing is wrong, and a layout is declared
    with console.progress("Reading rows", found.shards.rows) as bar:
        path = write_layout(found.shards, bar.step)
    console.say()
    console.say(f"Written: {path}, with checksums of {found.shards.rows:,} rows")
