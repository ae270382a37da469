"""Raw rows of Parquet files, of `datasets` folders and of data sets on the hub."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from surefit.did_you_mean import suggestion
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput, refused_as

from .bad_rows import BadRow
from .raw import RawRow, RawRows
from .tool_calls import without_padding

UNREADABLE_TABLE = refusal(
    "SF112",
    "unreadable-table",
    "The library that reads this format refused the file; it is damaged or of another format.",
)
NO_SUCH_SPLIT = refusal(
    "SF113",
    "no-such-split",
    "A data set of several splits is read from `train`, unless another split is asked for.",
)
HUB_FAILED = refusal(
    "SF114",
    "hub-failed",
    "A name that is not a local file is looked up on the Hugging Face Hub with `datasets`.",
)
UNREADABLE_VALUE = refusal(
    "SF119",
    "unreadable-value",
    "A value of a table is out of the range of its type: a date after the year 9999, a text that is"
    " not UTF-8.",
)

ROWS_AT_ONCE = 1024


def read_parquet(path: Path, name: str) -> RawRows:
    """Row group by row group; places count rows from 1."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(ROWS_AT_ONCE, row_groups=[group]):
                    yield from _rows_of(batch, name, number)
                    number += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        raise BadInput(_unreadable(error, name)) from None


def _rows_of(batch: Any, name: str, before: int) -> RawRows:
    """Of a batch in which a value cannot be read, row by row, so that only its row is bad."""
    try:
        every = [without_padding(values) for values in batch.to_pylist()]
    except (ValueError, ArithmeticError, RuntimeError, LookupError):
        every = None
    for at in range(batch.num_rows):
        place = Place(name, row=before + at + 1)
        yield RawRow(place, every[at]) if every else _single_row(batch.slice(at, 1), place)


def _single_row(row: Any, place: Place) -> RawRow | BadRow:
    values: dict[str, object] = {}
    for column, cell in zip(row.schema.names, row.columns, strict=True):
        try:
            values[column] = cell[0].as_py()
        except (ValueError, ArithmeticError, RuntimeError, LookupError) as error:
            return BadRow(
                place,
                UNREADABLE_VALUE,
                f"`{column}` holds a value of type `{cell.type}` that cannot be read",
                field=column,
                python_said=f"{type(error).__name__}: {error}",
            )
    return RawRow(place, without_padding(values))


def count_parquet(path: Path) -> int | None:
    """None for a file that cannot be read, which is for `read_parquet` to say."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError):
        return None


def is_datasets_folder(path: Path) -> bool:
    return (path / "dataset_dict.json").is_file() or (path / "dataset_info.json").is_file()


def load_datasets_folder(path: Path, name: str) -> tuple[RawRows, tuple[str, ...]]:
    """Rows, and what was chosen among splits."""
    import datasets

    with refused_as(lambda error: _unreadable(error, name)):
        loaded = datasets.load_from_disk(str(path))
    if not isinstance(loaded, datasets.DatasetDict):
        return _rows(loaded, name), ()
    choice = Fix(f"Give the folder of one split, as `{name}/SPLIT`.")
    return _rows(train_split(loaded, name, choice), name), (_chosen(loaded),)


def load_hub(name: str) -> tuple[RawRows, tuple[str, ...]]:
    """Rows of `owner/name` or `owner/name:split`, and what was chosen among splits."""
    import datasets

    repository, _, split = name.partition(":")
    try:
        loaded = datasets.load_dataset(repository, split=split or None)
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise BadInput(_hub_failed(error, name, repository)) from None
    if not isinstance(loaded, datasets.DatasetDict):
        return _rows(loaded, name), ()
    choice = Fix(f"Name one of them: `{repository}:SPLIT`.")
    return _rows(train_split(loaded, name, choice), name), (_chosen(loaded),)


def _rows(dataset: Iterable[dict[str, object]], name: str) -> RawRows:
    for number, values in enumerate(dataset, start=1):
        yield RawRow(Place(name, row=number), without_padding(values))


def train_split(splits: Any, name: str, choice: Fix) -> Any:
    if "train" in splits:
        return splits["train"]
    raise BadInput(
        NO_SUCH_SPLIT.finding(
            Place(name),
            f"`{name}` has no split `train`.{suggestion('train', splits)}",
            facts=(Fact("its splits", ", ".join(splits)),),
            fixes=(choice,),
        )
    )


def _chosen(splits: Iterable[str]) -> str:
    return f"read the split `train` of {', '.join(f'`{split}`' for split in splits)}"


def _unreadable(error: Exception, name: str) -> Finding:
    return UNREADABLE_TABLE.finding(
        Place(name),
        f"`{name}` cannot be read as the table that its name promises.",
        fixes=(Fix("Write the file again, or give rows in another format."),),
        python_said=f"{type(error).__name__}: {error}",
    )


def _hub_failed(error: Exception, name: str, repository: str) -> Finding:
    return HUB_FAILED.finding(
        Place(name),
        f"`{name}` is not a local file or folder, and the Hub has no such dataset.",
        facts=(Fact("looked for", f"a file or folder `{name}`, then `{repository}` on the hub"),),
        fixes=(
            Fix("If it is a file, give its path from the folder you are in."),
            Fix(
                "If it is on the hub, check the name, the split and the network; a private data "
                "set needs `hf auth login`."
            ),
        ),
        python_said=f"{type(error).__name__}: {error}",
    )
