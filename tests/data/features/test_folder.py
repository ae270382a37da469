"""A sample of every shard: kinds, values that are not finite, values in wrong places."""

from pathlib import Path

import numpy as np
import pytest

from feature_arrays import FORMATS, continuous, multi_hot, one_hot, write_shards
from surefit.data.features.folder import check_sample, read_shards, sample
from surefit.data.features.layout import Kind, Layout
from surefit.errors import BadInput

MAKERS = {Kind.ONE_HOT: one_hot, Kind.MULTI_HOT: multi_hot, Kind.CONTINUOUS: continuous}


def layout(kind: Kind | None = None) -> Layout:
    return Layout(steps=4, features=6, kind=kind)


@pytest.mark.parametrize("kind", MAKERS)
def test_kinds_are_recognised(kind: Kind, tmp_path: Path) -> None:
    folder = write_shards(tmp_path, MAKERS[kind](500, 4, 6), MAKERS[kind](3, 4, 6))
    found = check_sample(read_shards(folder, layout()))
    assert [one.kind for one in found] == [kind, kind]
    assert ("features" in found[0].sums_to_one) is (kind is Kind.ONE_HOT)
    check_sample(read_shards(folder, layout(kind)))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_be_sampled(name: str, tmp_path: Path) -> None:
    file, write, _ = FORMATS[name]
    rows = continuous(300, 4, 6)
    write(tmp_path / file, rows)
    for shard, whole in zip(
        read_shards(tmp_path, layout()).shards, _parts(tmp_path, rows), strict=True
    ):
        positions, found = sample(shard, 32)
        assert len(positions) == len(set(positions)) == len(found) <= 32
        np.testing.assert_array_equal(found, whole[positions])


def _parts(folder: Path, rows: np.ndarray) -> list[np.ndarray]:
    ends = np.cumsum([shard.rows for shard in read_shards(folder, layout()).shards])
    return np.split(rows, ends[:-1])


def test_rows_of_another_kind_are_named(tmp_path: Path) -> None:
    rows = one_hot(100, 4, 6)
    rows[40, 2, :] = [0.5, 0.5, 0, 0, 0, 0]
    folder = write_shards(tmp_path, rows)
    with pytest.raises(BadInput) as bad:
        check_sample(read_shards(folder, layout(Kind.ONE_HOT)))
    (found,) = bad.value.findings
    assert (found.code, found.place.file) == ("SF041", "part-0.npy")
    facts = {fact.name: fact.value for fact in found.facts}
    assert facts["first of them"] == "row 40 (from 0)"
    assert facts["row 40, step 2"] == "2 values that are not 0, sum 1"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_named(value: float, tmp_path: Path) -> None:
    rows = continuous(100, 4, 6)
    rows[7, 1, 5] = rows[93, 0, 0] = value
    with pytest.raises(BadInput) as bad:
        check_sample(read_shards(write_shards(tmp_path, rows), layout()))
    (found,) = bad.value.findings
    assert found.code == "SF040"
    assert f"holds {value} in row 7, step 1, feature 5" in found.headline
    assert found.facts[0].value == "2 of 100 that were looked at: rows 7 to 93"


@pytest.mark.parametrize("kind", [None, Kind.ONE_HOT])
def test_rows_that_were_reshaped_instead_of_transposed(kind: Kind | None, tmp_path: Path) -> None:
    """Their sizes are right, and nothing would fail on them."""
    rows = np.ascontiguousarray(one_hot(100, 4, 6).swapaxes(1, 2)).reshape(100, 4, 6)
    with pytest.raises(BadInput) as bad:
        check_sample(read_shards(write_shards(tmp_path, rows), layout(kind)))
    (found,) = bad.value.findings
    assert "rows were reshaped instead of transposed" in found.headline
    assert "--mend-to OUT" in found.fixes[0].text


def test_padding_at_the_end_of_rows_is_seen(tmp_path: Path) -> None:
    rows = continuous(10, 4, 6)
    rows[3, 1:] = 0
    rows[5, 3:] = 0
    (found,) = check_sample(read_shards(write_shards(tmp_path, rows), layout()))
    assert (found.shortest, found.longest) == (1, 4)
