"""The layout file: written, read, and what it shows of files that have changed since."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feature_arrays import FORMATS, continuous, one_hot, table, write_shards
from surefit.data.features.array_names import LAYOUT_FILE
from surefit.data.features.checksums import BLOCK_BYTES, rows_in_block, verify
from surefit.data.features.folder import Shards, read_shards
from surefit.data.features.layout import Kind, Layout
from surefit.data.features.layout_file import declare
from surefit.data.features.write_layout import write_layout
from surefit.errors import BadInput

LAYOUT = Layout(steps=4, features=6, kind=Kind.CONTINUOUS)


def with_layout(folder: Path, *shards: np.ndarray) -> Shards:
    write_shards(folder, *shards)
    write_layout(read_shards(folder, LAYOUT))
    return read_shards(folder)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_checksums_that_hold(name: str, tmp_path: Path) -> None:
    file, write, _ = FORMATS[name]
    write(tmp_path / file, continuous(11, 4, 6))
    write_layout(read_shards(tmp_path, LAYOUT))
    found = read_shards(tmp_path)
    assert found.layout == LAYOUT
    assert found.checksums is not None
    assert set(found.checksums.of) == {shard.key for shard in found.shards}
    verify(found)


@given(st.integers(1, 10**8))
def test_blocks_hold_a_power_of_two_of_rows_and_no_less_than_they_should(row_bytes: int) -> None:
    rows = rows_in_block(row_bytes)
    assert rows.bit_count() == 1
    assert rows * row_bytes >= BLOCK_BYTES
    assert rows * row_bytes < 2 * BLOCK_BYTES or rows == 1


def test_one_flipped_bit_is_named_by_file_and_rows(tmp_path: Path) -> None:
    many = continuous(30_000, 4, 6)
    with_layout(tmp_path, many, many)
    path = tmp_path / "part-1.npy"
    raw = bytearray(path.read_bytes())
    raw[128 + 96 * 20_000 + 5] ^= 1
    path.write_bytes(raw)
    with pytest.raises(BadInput) as bad:
        verify(read_shards(tmp_path))
    (found,) = bad.value.findings
    assert found.code == "SF042"
    assert found.place.file == "part-1.npy"
    assert "in rows 16,384 to 29,999" in found.headline
    assert found.facts[1].value == "1 of 2 are not what they were"


def test_a_flip_in_a_row_group_is_found(tmp_path: Path) -> None:
    pq.write_table(table(continuous(11, 4, 6)), tmp_path / "a.parquet", row_group_size=4)
    shards = read_shards(tmp_path, LAYOUT)
    write_layout(shards)
    size = (tmp_path / "a.parquet").stat().st_size
    pq.write_table(table(continuous(11, 4, 6, seed=1)), tmp_path / "a.parquet", row_group_size=4)
    assert (tmp_path / "a.parquet").stat().st_size == size
    with pytest.raises(BadInput, match="in rows 0 to 10"):
        verify(read_shards(tmp_path))


def test_without_checksums_there_is_nothing_to_verify(tmp_path: Path) -> None:
    found = read_shards(write_shards(tmp_path, continuous(3, 4, 6)), LAYOUT)
    assert found.checksums is None
    verify(found)


def test_files_that_came_went_or_changed(tmp_path: Path) -> None:
    rows = continuous(5, 4, 6)
    with_layout(tmp_path, rows, rows, rows)
    (tmp_path / "part-0.npy").unlink()
    np.save(tmp_path / "part-1.npy", rows[:3])
    np.save(tmp_path / "part-9.npy", rows)
    with pytest.raises(BadInput) as bad:
        read_shards(tmp_path)
    assert [one.headline for one in bad.value.findings] == [
        f"`part-0.npy`, 5 rows, is in `{LAYOUT_FILE}` and no longer here.",
        f"`part-1.npy` is not the file that `{LAYOUT_FILE}` was written for.",
        f"`part-9.npy`, 5 rows, is not in `{LAYOUT_FILE}`.",
    ]


def test_a_call_that_contradicts_the_file_is_refused(tmp_path: Path) -> None:
    with_layout(tmp_path, continuous(5, 4, 6))
    with pytest.raises(BadInput, match="declares"):
        read_shards(tmp_path, Layout(steps=6, features=4))
    assert declare(tmp_path) == LAYOUT
    assert declare(tmp_path, steps=4) == LAYOUT
    with pytest.raises(BadInput, match="declares"):
        declare(tmp_path, dtype="float64")


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        "[1]",
        '{"surefit_layout": 1, "steps": 4, "features": 6, "dtype": "flat32"}',
        '{"surefit_layout": 1, "steps": 4, "features": 6, "dtype": "float32", "kind": "hot"}',
        '{"surefit_layout": 2, "steps": 4, "features": 6, "dtype": "float32"}',
        '{"surefit_layout": 1, "steps": 0, "features": 6, "dtype": "float32"}',
    ],
)
def test_a_layout_file_that_cannot_be_read(content: str, tmp_path: Path) -> None:
    write_shards(tmp_path, one_hot(5, 4, 6))
    (tmp_path / LAYOUT_FILE).write_text(content)
    with pytest.raises(BadInput) as bad:
        read_shards(tmp_path)
    assert bad.value.findings[0].code == "SF043"
