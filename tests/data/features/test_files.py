"""Headers of every format: what they say, what they refuse, and the rows behind them."""

import pickle
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.numpy import save_file

from feature_arrays import FORMATS, continuous, one_hot, table, write_shards
from surefit.data.features.decode import decode_rows, decoded, decoded_together
from surefit.data.features.files import natural, read_headers
from surefit.data.features.folder import read_shards
from surefit.data.features.layout import Layout
from surefit.data.features.shards import Form, Shard
from surefit.errors import BadInput

ROWS = continuous(11, 4, 6)
LAYOUT = Layout(steps=4, features=6)


def all_rows(shards: tuple[Shard, ...]) -> np.ndarray:
    parts = []
    for shard in shards:
        into = np.empty((shard.rows, *shard.shape), shard.dtype)
        half = shard.rows // 2
        decoded(shard, 0, half, into[:half])
        decoded(shard, half, shard.rows, into[half:])
        parts.append(into)
    return np.concatenate(parts)


@pytest.mark.parametrize("name", FORMATS)
def test_rows_of_every_format_come_back_bit_for_bit(name: str, tmp_path: Path) -> None:
    file, write, form = FORMATS[name]
    write(tmp_path / file, ROWS)
    found = read_shards(tmp_path, LAYOUT)
    assert {shard.form for shard in found.shards} == {form}
    assert found.rows == len(ROWS)
    np.testing.assert_array_equal(all_rows(found.shards), ROWS)


@pytest.mark.parametrize("name", [name for name in FORMATS if FORMATS[name][2] is Form.PLAIN])
def test_rows_in_place_lie_where_the_header_says(name: str, tmp_path: Path) -> None:
    file, write, _ = FORMATS[name]
    write(tmp_path / file, ROWS)
    at = 0
    for shard in read_shards(tmp_path, LAYOUT).shards:
        assert shard.offset is not None
        raw = (tmp_path / file).read_bytes()[shard.offset :][: shard.rows * shard.stored_row_bytes]
        assert raw == ROWS[at : at + shard.rows].tobytes()
        at += shard.rows
    assert at == len(ROWS)


def test_row_groups_are_told(tmp_path: Path) -> None:
    pq.write_table(table(ROWS), tmp_path / "a.parquet", row_group_size=4)
    (shard,) = read_shards(tmp_path, LAYOUT).shards
    assert decoded_together(shard) == ((0, 4), (4, 8), (8, 11))


def said(data: Path, layout: Layout | None = LAYOUT) -> tuple[str, ...]:
    with pytest.raises(BadInput) as bad:
        read_shards(data, layout)
    return tuple(
        " ".join(
            (one.code, one.place.file, one.headline, *(f"{f.name} {f.value}" for f in one.facts))
        )
        for one in bad.value.findings
    )


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


def test_a_truncated_file_names_bytes_and_the_last_whole_row(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ROWS)
    cut(tmp_path / "a.npy", 128 + 96 * 7 + 50)
    (words,) = said(tmp_path)
    assert words.startswith("SF032 a.npy")
    assert "1,184 bytes in all" in words
    assert "850 bytes: 334 bytes too few" in words
    assert "7 of 11; row 6 (from 0) is the last" in words


def test_a_file_with_more_behind_its_rows_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", ROWS)
    with (tmp_path / "a.npy").open("ab") as file:
        file.write(b"123")
    (words,) = said(tmp_path)
    assert "3 bytes longer than its header says" in words


def test_a_truncated_safetensors_file(tmp_path: Path) -> None:
    save_file({"x": ROWS}, tmp_path / "a.safetensors")
    size = (tmp_path / "a.safetensors").stat().st_size
    cut(tmp_path / "a.safetensors", size - 100)
    (words,) = said(tmp_path)
    assert "SF032" in words
    assert "9 of 11; row 8" in words


@pytest.mark.parametrize("end", [".npy", ".npz", ".safetensors", ".arrow", ".parquet", ".pt"])
@pytest.mark.parametrize(
    "content", [b"", b"not this", b"\x93NUMPY\x01\x00v\x00{'descr'" + b" " * 150]
)
def test_files_that_are_not_what_they_promise(end: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / f"a{end}").write_bytes(content)
    (words,) = said(tmp_path)
    assert words.startswith((f"SF031 a{end}", f"SF033 a{end}"))


@pytest.mark.parametrize("end", [".npz", ".arrow", ".feather", ".parquet", ".pt"])
def test_cut_containers_are_named(end: str, tmp_path: Path) -> None:
    file, write, _ = next(one for one in FORMATS.values() if one[0] == f"a{end}")
    write(tmp_path / file, ROWS)
    cut(tmp_path / file, (tmp_path / file).stat().st_size // 2)
    (words,) = said(tmp_path)
    assert words.startswith(f"SF031 a{end}")


def test_pickles_are_not_read(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (tmp_path / "run",)

    np.save(tmp_path / "a.npy", np.array([Trap()], object), allow_pickle=True)
    np.savez(tmp_path / "b.npz", np.array([Trap()], object), allow_pickle=True)
    (tmp_path / "c.pkl").write_bytes(pickle.dumps(Trap()))
    torch.save(Trap(), tmp_path / "d.pt")
    words = said(tmp_path)
    assert [one.split()[:2] for one in words] == [
        ["SF033", name] for name in ("a.npy", "b.npz", "c.pkl", "d.pt")
    ]
    assert not (tmp_path / "run").exists()


def test_several_arrays_in_a_file_are_named(tmp_path: Path) -> None:
    save_file({"one": ROWS, "two": ROWS}, tmp_path / "a.safetensors")
    (words,) = said(tmp_path)
    assert "SF034" in words
    assert "`one` [11, 4, 6]" in words


def test_values_that_are_no_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 4, 6), complex))
    torch.save(torch.zeros(3, 4, 6, dtype=torch.bfloat16), tmp_path / "b.pt")
    save_file({"x": np.zeros((3, 4, 6), np.float32)}, tmp_path / "c.safetensors")
    raw = (tmp_path / "c.safetensors").read_bytes()
    (tmp_path / "c.safetensors").write_bytes(raw.replace(b'"F32"', b'"F8Z"'))
    pq.write_table(pa.table({"x": [["a"], ["b"]]}), tmp_path / "d.parquet")
    assert [one.split()[0] for one in said(tmp_path)] == ["SF048"] * 4


def test_paths_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "a.npy").mkdir()
    (tmp_path / "b.npy").symlink_to("nowhere.npy")
    words = said(tmp_path)
    assert "is a folder" in words[0]
    assert "is a link to `nowhere.npy`, which does not exist" in words[1]


def test_an_empty_folder_says_what_is_read(tmp_path: Path) -> None:
    (words,) = said(tmp_path)
    assert "SF030" in words
    assert "in it nothing" in words
    write_shards(tmp_path / "train", ROWS)
    with pytest.raises(BadInput) as bad:
        read_shards(tmp_path, LAYOUT)
    assert "train" in bad.value.findings[0].fixes[0].text
    (words,) = said(tmp_path / "trian")
    assert "nearest name is `train`" in words


def test_other_files_are_passed_over_and_told(tmp_path: Path) -> None:
    write_shards(tmp_path, ROWS)
    for name in ("notes.txt", ".hidden.npy", "_part.npy"):
        (tmp_path / name).write_text("x")
    (tmp_path / "more").mkdir()
    found = read_shards(tmp_path, LAYOUT)
    assert found.passed_over == (".hidden.npy", "_part.npy", "more", "notes.txt")
    assert [shard.name for shard in found.shards] == ["part-0.npy"]


def test_names_are_ordered_as_people_count() -> None:
    names = ["part-10.npy", "part-2.npy", "part-1.npy", "a.npy"]
    assert sorted(names, key=natural) == ["a.npy", "part-1.npy", "part-2.npy", "part-10.npy"]


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    wrong = (
        ROWS,
        ROWS.astype("float64"),
        ROWS.astype(">f4"),
        np.asfortranarray(ROWS),
        ROWS[:0],
        ROWS.swapaxes(1, 2).copy(),
    )
    write_shards(tmp_path, *wrong)
    words = said(tmp_path)
    assert [one.split()[:2] for one in words] == [
        ["SF038", "part-1.npy"],
        ["SF038", "part-2.npy"],
        ["SF039", "part-3.npy"],
        ["SF035", "part-4.npy"],
        ["SF037", "part-5.npy"],
    ]
    assert "holds float64, and float32 is declared" in words[0]
    assert "big-endian" in words[1]


def test_a_single_file_is_a_folder_of_one(tmp_path: Path) -> None:
    write_shards(tmp_path, ROWS, ROWS)
    assert read_shards(tmp_path / "part-1.npy", LAYOUT).rows == len(ROWS)


def test_nothing_declared_is_refused(tmp_path: Path) -> None:
    write_shards(tmp_path, ROWS)
    (words,) = said(tmp_path, None)
    assert "SF036" in words


def test_rows_of_several_lengths_are_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [[1.0, 2.0], [1.0]]}), tmp_path / "a.parquet")
    found = read_headers(tmp_path)
    assert found.headers[0].shape == (2, 2)  # by the first row
    with pytest.raises(BadInput, match="different lengths"):
        decode_rows(tmp_path / "a.parquet", "a.parquet", "x", None, 0, 2)


def test_a_file_that_changes_is_told(tmp_path: Path) -> None:
    write_shards(tmp_path, ROWS)
    (shard,) = read_shards(tmp_path, LAYOUT).shards
    into = np.empty_like(ROWS)
    np.save(tmp_path / "part-0.npy", ROWS[:5])
    with pytest.raises(BadInput, match="has changed since its header was read"):
        decoded(shard, 0, 11, into)
    (tmp_path / "part-0.npy").unlink()
    with pytest.raises(BadInput, match="no longer exists"):
        decoded(shard, 0, 11, into)


def test_one_hot_rows_of_sixteen_shards(tmp_path: Path) -> None:
    write_shards(tmp_path, *(one_hot(3, 4, 6, seed=seed) for seed in range(16)))
    found = read_shards(tmp_path, LAYOUT)
    assert [shard.name for shard in found.shards][:3] == ["part-0.npy", "part-1.npy", "part-2.npy"]
    assert found.rows == 48


def damaged(raw: bytes, random: Random) -> bytes:
    """Cut off, or with bytes changed, mostly where formats keep what they say of themselves."""
    if random.random() < 0.3:
        return raw[: random.randrange(len(raw))]
    changed = bytearray(raw)
    for _ in range(random.choice([1, 1, 3, 20])):
        at = random.randrange(min(600, len(raw)))
        changed[at if random.random() < 0.5 else -1 - at] = random.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("name", FORMATS)
def test_a_damaged_file_is_read_or_named(name: str, tmp_path: Path) -> None:
    """Never an exception of the library that reads it, and never the end of the process."""
    file, write, _ = FORMATS[name]
    path = tmp_path / file
    write(path, continuous(100, 4, 6))
    raw, random = path.read_bytes(), Random(name)
    for _ in range(12):
        path.write_bytes(damaged(raw, random))
        with suppress(BadInput):
            all_rows(read_shards(tmp_path, LAYOUT).shards)
