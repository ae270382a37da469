"""Packed rows: the same to the bit when they are read again."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feature_arrays import FORMATS, continuous, multi_hot, one_hot, write_shards
from surefit.data.features.checksums import verify
from surefit.data.features.decode import decoded, expand_bits, expand_ids
from surefit.data.features.folder import Shards, check_sample, read_shards
from surefit.data.features.layout import Kind, Layout
from surefit.data.features.pack import ids_dtype, pack, pack_bits, pack_ids
from surefit.data.features.shards import Form
from surefit.errors import BadInput, WrongCall

LAYOUT = Layout(steps=20, features=271)


def unpacked(shards: Shards) -> np.ndarray:
    parts = [np.empty((one.rows, *one.shape), one.dtype) for one in shards.shards]
    for shard, into in zip(shards.shards, parts, strict=True):
        decoded(shard, 0, shard.rows, into)
    return np.concatenate(parts)


@pytest.mark.parametrize(
    ("rows", "form", "row_bytes"),
    [(one_hot(70), Form.IDS, 40), (multi_hot(70), Form.BITS, 678)],
    ids=["one-hot", "multi-hot"],
)
def test_a_folder_comes_back_bit_for_bit(
    rows: np.ndarray, form: Form, row_bytes: int, tmp_path: Path
) -> None:
    data = write_shards(tmp_path / "data", rows[:50], rows[50:])
    made = pack(read_shards(data, LAYOUT), tmp_path / "out")
    assert (made.row_bytes, made.packed_row_bytes) == (21_680, row_bytes)
    found = read_shards(tmp_path / "out")
    assert {shard.form for shard in found.shards} == {form}
    assert found.layout.kind is (Kind.ONE_HOT if form is Form.IDS else Kind.MULTI_HOT)
    assert unpacked(found).tobytes() == rows.tobytes()
    check_sample(found)
    verify(found)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_packed(name: str, tmp_path: Path) -> None:
    file, write, _ = FORMATS[name]
    rows = one_hot(11, 4, 6)
    (tmp_path / "data").mkdir()
    write(tmp_path / "data" / file, rows)
    shards = read_shards(tmp_path / "data", Layout(steps=4, features=6))
    found = pack(shards, tmp_path / "out").shards
    assert [shard.name for shard in found.shards] == ["a.npy"]
    assert unpacked(found).tobytes() == rows.tobytes()


@given(
    rows=st.integers(1, 9),
    steps=st.integers(1, 9),
    features=st.integers(1, 300),
    dtype=st.sampled_from(["float16", "float32", "float64", "bool", "uint8", "int64"]),
    seed=st.integers(0, 99),
)
def test_packing_loses_nothing(rows: int, steps: int, features: int, dtype: str, seed: int) -> None:
    hot = one_hot(rows, steps, features, dtype, seed)
    again = np.full_like(hot, 1)
    expand_ids(pack_ids(hot, ids_dtype(features)), again)
    assert again.tobytes() == hot.tobytes()
    many = multi_hot(rows, steps, features, dtype, seed)
    expand_bits(pack_bits(many), again)
    assert again.tobytes() == many.tobytes()


@pytest.mark.parametrize(
    ("features", "dtype"), [(1, "int8"), (128, "int8"), (129, "int16"), (32_769, "int32")]
)
def test_ids_are_no_wider_than_they_must_be(features: int, dtype: str) -> None:
    assert ids_dtype(features) == dtype


def test_continuous_rows_are_refused(tmp_path: Path) -> None:
    data = write_shards(tmp_path / "data", continuous(5))
    with pytest.raises(BadInput, match="only zeros and ones can be packed"):
        pack(read_shards(data, LAYOUT), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_row_of_another_kind_stops_it_and_is_named(tmp_path: Path) -> None:
    rows = one_hot(3000, 4, 6)
    rows[1777, 2] = 1
    data = write_shards(tmp_path / "data", rows)
    with pytest.raises(BadInput) as bad:
        pack(read_shards(data, Layout(steps=4, features=6, kind=Kind.ONE_HOT)), tmp_path / "out")
    assert bad.value.findings[0].facts[0].value == "row 1,777 (from 0)"
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_negative_zeros_are_not_lost_in_silence(tmp_path: Path) -> None:
    rows = one_hot(9, 4, 6)
    rows[5][rows[5] == 0] = -0.0
    data = write_shards(tmp_path / "data", rows)
    with pytest.raises(BadInput, match=r"from row 5 on: it holds -0\.0"):
        pack(read_shards(data, Layout(steps=4, features=6)), tmp_path / "out")


def test_packed_rows_are_not_packed_again_and_nothing_is_written_over(tmp_path: Path) -> None:
    data = write_shards(tmp_path / "data", one_hot(5))
    pack(read_shards(data, LAYOUT), tmp_path / "out")
    with pytest.raises(WrongCall, match="is packed already"):
        pack(read_shards(tmp_path / "out"), tmp_path / "more")
    with pytest.raises(WrongCall, match="is there already"):
        pack(read_shards(data, LAYOUT), tmp_path / "out")


def test_ids_that_the_layout_has_not_got_are_named(tmp_path: Path) -> None:
    data = write_shards(tmp_path / "data", one_hot(5))
    pack(read_shards(data, LAYOUT), tmp_path / "out")
    file = tmp_path / "out" / "part-0.npy"
    ids = np.load(file)
    ids[3, 7] = 271
    np.save(file, ids)
    found = read_shards(tmp_path / "out")
    with pytest.raises(BadInput, match="names feature 271 in row 3, step 7"):
        unpacked(found)
    with pytest.raises(BadInput, match="other bytes than when its checksums were written"):
        verify(found)
