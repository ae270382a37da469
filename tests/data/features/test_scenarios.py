"""The table of scenarios: each made, recognised, and mended or refused as it should be."""

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feature_arrays import continuous, multi_hot, one_hot, write_shards
from surefit.data.features.files import read_headers
from surefit.data.features.folder import read_shards
from surefit.data.features.layout import Kind, Layout
from surefit.data.features.mend import mend
from surefit.data.features.readings import open_values, read_rows
from surefit.data.features.scenarios import Verdict, judge
from surefit.data.features.ways import Scenario
from surefit.errors import BadInput, WrongCall

LAYOUT = Layout(steps=20, features=271)
HOT = one_hot(60)
MANY = multi_hot(60)
FREE = continuous(60)

Make = Callable[[np.ndarray], np.ndarray]


def swapped(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows.swapaxes(1, 2))


def pooled(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows.mean(axis=1, dtype="float32"))


@dataclass(frozen=True)
class Case:
    """How rows were stored, and what is to be found for one-hot rows and for others."""

    make: Make
    one_hot: Scenario
    mended: bool
    """Whether one-hot rows are mended without a word of the user's."""

    continuous: Scenario
    word: str | None = None
    """With which `--as` continuous rows are mended; None where nothing is to be done."""

    continuous_mended: bool = False


CASES = {
    "as declared": Case(
        lambda x: x, Scenario.AS_DECLARED, True, Scenario.AS_DECLARED, continuous_mended=True
    ),
    "flattened": Case(
        lambda x: x.reshape(len(x), -1),
        Scenario.FLATTENED,
        True,
        Scenario.FLATTENED,
        "flattened",
    ),
    "flattened after a transpose": Case(
        lambda x: swapped(x).reshape(len(x), -1),
        Scenario.TURNED,
        True,
        Scenario.FLATTENED,
        "flattened-transposed",
    ),
    "all in one axis": Case(
        lambda x: x.reshape(-1), Scenario.FLATTENED, True, Scenario.FLATTENED, "flattened"
    ),
    "swapped axes": Case(swapped, Scenario.SWAPPED, True, Scenario.SWAPPED, "swapped"),
    "reshaped to swapped sizes": Case(
        lambda x: x.reshape(len(x), 271, 20),
        Scenario.RESHAPED,
        True,
        Scenario.SWAPPED,
        "reshaped",
    ),
    "right sizes, wrong places": Case(
        lambda x: swapped(x).reshape(len(x), 20, 271),
        Scenario.RESHAPED,
        True,
        Scenario.AS_DECLARED,
        continuous_mended=True,  # which nobody can see: it is copied as it is
    ),
    "steps first": Case(
        lambda x: np.ascontiguousarray(x.transpose(1, 0, 2)),
        Scenario.ROWS_NOT_FIRST,
        False,
        Scenario.ROWS_NOT_FIRST,
        "steps-rows-features",
    ),
    "rows last": Case(
        lambda x: np.ascontiguousarray(x.transpose(1, 2, 0)),
        Scenario.ROWS_NOT_FIRST,
        False,
        Scenario.ROWS_NOT_FIRST,
        "steps-features-rows",
    ),
    "other width": Case(
        lambda x: x[:, :, :200].copy(), Scenario.OTHER_WIDTH, False, Scenario.OTHER_WIDTH
    ),
    "a step less": Case(
        lambda x: x[:, :-1].copy(), Scenario.OTHER_LENGTH, False, Scenario.OTHER_LENGTH
    ),
    "rows and steps merged": Case(
        lambda x: x.reshape(-1, 271),
        Scenario.MERGED,
        False,
        Scenario.MERGED_OR_POOLED,
        "merged",
    ),
    "steps and rows merged": Case(
        lambda x: np.ascontiguousarray(x.swapaxes(0, 1)).reshape(-1, 271),
        Scenario.MERGED,
        False,
        Scenario.MERGED_OR_POOLED,
        "merged-steps-first",
    ),
    "an axis in front": Case(
        lambda x: x[None], Scenario.EXTRA_AXIS, True, Scenario.EXTRA_AXIS, continuous_mended=True
    ),
    "an axis after rows": Case(
        lambda x: x[:, None],
        Scenario.EXTRA_AXIS,
        True,
        Scenario.EXTRA_AXIS,
        continuous_mended=True,
    ),
    "an axis at the end": Case(
        lambda x: x[..., None],
        Scenario.EXTRA_AXIS,
        True,
        Scenario.EXTRA_AXIS,
        continuous_mended=True,
    ),
    "flattened, and an axis more": Case(
        lambda x: x.reshape(len(x), 1, -1),
        Scenario.FLATTENED,
        True,
        Scenario.FLATTENED,
        "flattened",
    ),
    "in batches": Case(
        lambda x: x.reshape(6, 10, 20, 271),
        Scenario.BATCHED,
        True,
        Scenario.BATCHED,
        continuous_mended=True,
    ),
    "pooled": Case(pooled, Scenario.POOLED, False, Scenario.MERGED_OR_POOLED, "merged"),
    "pooled, of a number of rows that cannot be merged": Case(
        lambda x: pooled(x[:59]), Scenario.POOLED, False, Scenario.POOLED
    ),
    "one row alone": Case(
        lambda x: x[0], Scenario.UNBATCHED, False, Scenario.UNBATCHED, "unbatched"
    ),
    "one row alone, transposed": Case(
        lambda x: swapped(x)[0],
        Scenario.UNBATCHED,
        False,
        Scenario.UNBATCHED,
        "unbatched-swapped",
    ),
    "other data": Case(
        lambda x: np.resize(x, (16, 99, 40)), Scenario.OTHER_DATA, False, Scenario.OTHER_DATA
    ),
}


def verdict(folder: Path, chosen: str | None = None, layout: Layout = LAYOUT) -> Verdict:
    (header,) = read_headers(folder).headers
    return judge(header, layout, chosen)


def all_of(folder: Path) -> np.ndarray:
    return np.concatenate([np.load(one) for one in sorted(folder.glob("*.npy"))])


@pytest.mark.parametrize("kind", [None, Kind.ONE_HOT])
@pytest.mark.parametrize("name", CASES)
def test_one_hot_rows(name: str, kind: Kind | None, tmp_path: Path) -> None:
    case = CASES[name]
    layout = Layout(steps=20, features=271, kind=kind)
    data = write_shards(tmp_path / "data", case.make(HOT))
    found = verdict(data, layout=layout)
    assert found.scenario is case.one_hot
    assert (found.reading is not None) is case.mended
    if case.mended:
        mend(data, tmp_path / "out", layout)
        np.testing.assert_array_equal(all_of(tmp_path / "out"), HOT)
    else:
        with pytest.raises(BadInput):
            mend(data, tmp_path / "out", layout)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rows", [MANY, FREE], ids=["multi-hot", "continuous"])
@pytest.mark.parametrize("name", CASES)
def test_rows_whose_values_cannot_decide(name: str, rows: np.ndarray, tmp_path: Path) -> None:
    case = CASES[name]
    stored = case.make(rows)
    data = write_shards(tmp_path / "data", stored)
    found = verdict(data)
    assert found.scenario is case.continuous
    assert (found.reading is not None) is case.continuous_mended
    if case.continuous_mended:
        return
    with pytest.raises(BadInput):
        mend(data, tmp_path / "out", LAYOUT)
    if case.word:
        assert case.word in {one.word for one in found.open}
        mend(data, tmp_path / "out", LAYOUT, case.word)
        wanted = rows[:1] if stored.ndim == 2 and stored.size == 5420 else rows
        if case.make is not pooled:
            np.testing.assert_array_equal(all_of(tmp_path / "out"), wanted)


@pytest.mark.parametrize("name", [name for name in CASES if name != "as declared"])
def test_reading_refuses_every_other_shape_and_says_what_it_is(name: str, tmp_path: Path) -> None:
    stored = CASES[name].make(HOT)
    data = write_shards(tmp_path / "data", stored, stored)
    if stored.shape[1:] == LAYOUT.shape:
        read_shards(data, LAYOUT)  # by its header it fits; its values are looked at elsewhere
        return
    with pytest.raises(BadInput) as bad:
        read_shards(data, LAYOUT)
    (found,) = bad.value.findings  # both shards in one
    assert found.code == "SF037"
    assert found.place.file == "part-0.npy"
    assert str(list(stored.shape)).replace("[", "").replace("]", "") in found.headline
    assert "1 more: part-1.npy" in {fact.value for fact in found.facts}
    assert found.fixes


def test_other_data_as_in_the_source_document(tmp_path: Path) -> None:
    """[256, 999, 4000], by its header alone: what is ruled out, and the arithmetic."""
    from numpy.lib import format as npy

    with (tmp_path / "part-0.npy").open("wb") as file:
        shape = (256, 999, 4000)
        npy.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        file.truncate(file.tell() + 4 * 256 * 999 * 4000)  # a hole: no block of the disk is used
    with pytest.raises(BadInput) as bad:
        read_shards(tmp_path, LAYOUT)
    (found,) = bad.value.findings
    assert "these are other data" in found.headline
    facts = {fact.name: fact.value for fact in found.facts}
    assert facts["one row"] == "15,984,000 bytes, 737 times the 21,680 declared"
    out = {fact.name: fact.value for fact in found.ruled_out}
    assert out["flattened"] == "the last axis would be 20 x 271 = 5420"
    assert out["swapped axes"] == "no axis is 20 or 271"
    assert out["wrong reshape"] == "256 x 999 x 4000 = 1,022,976,000: no multiple of 5420"
    assert "--steps 999 --features 4000" in found.fixes[-1].text


def test_values_prove_how_rows_were_flattened(tmp_path: Path) -> None:
    found = verdict(write_shards(tmp_path, swapped(HOT).reshape(60, -1)))
    facts = {fact.name: fact.value for fact in found.facts}
    assert facts["values"] == "in this layout, all 1,200 steps of 60 rows sum to 1"
    assert facts["arithmetic"] == "60 x 5420 = 60 x 20 x 271"
    out = {fact.name: fact.value for fact in found.ruled_out}
    assert "of 1,200 steps would not sum to 1" in out["flattened"]


def test_a_choice_against_the_values_is_refused(tmp_path: Path) -> None:
    data = write_shards(tmp_path / "data", HOT.reshape(60, -1))
    with pytest.raises(BadInput, match="is not `flattened-transposed`"):
        mend(data, tmp_path / "out", LAYOUT, "flattened-transposed")


def test_squares_are_told_by_their_values(tmp_path: Path) -> None:
    """As many steps as features: no size shows that axes are swapped."""
    rows = one_hot(40, 12, 12)
    layout = Layout(steps=12, features=12)
    found = verdict(write_shards(tmp_path, swapped(rows)), layout=layout)
    assert found.scenario is Scenario.SWAPPED
    assert found.reading is not None


@pytest.mark.parametrize("stored", ["float64", ">f4", "int8"])
def test_dtypes_are_mended_without_changing_a_value(stored: str, tmp_path: Path) -> None:
    data = write_shards(tmp_path / "data", HOT.astype(stored), HOT)
    found = mend(data, tmp_path / "out", LAYOUT)
    assert {shard.dtype for shard in found.shards} == {"float32"}
    np.testing.assert_array_equal(all_of(tmp_path / "out"), np.concatenate((HOT, HOT)))


def test_a_dtype_that_would_change_values_is_refused(tmp_path: Path) -> None:
    data = write_shards(tmp_path / "data", FREE.astype("float64") / 3)
    with pytest.raises(BadInput, match="that float32 cannot hold"):
        mend(data, tmp_path / "out", LAYOUT)
    assert [one.name for one in tmp_path.iterdir()] == ["data"]


def test_fortran_order_is_mended(tmp_path: Path) -> None:
    data = write_shards(tmp_path / "data", np.asfortranarray(FREE))
    mend(data, tmp_path / "out", LAYOUT)
    np.testing.assert_array_equal(all_of(tmp_path / "out"), FREE)


@pytest.mark.parametrize("make", [swapped, np.asfortranarray], ids=["swapped", "Fortran"])
def test_mending_holds_a_few_blocks_at_a_time(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefit.data.features.mend.BLOCK_BYTES", 500_000)
    monkeypatch.setattr("surefit.data.features.scenarios.SAMPLE_BYTES", 500_000)
    rows = one_hot(200_000, 4, 6)
    data = write_shards(tmp_path / "data", make(rows))
    tracemalloc.start()
    try:
        mend(data, tmp_path / "out", Layout(steps=4, features=6))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8_000_000  # the file has 19 MB
    np.testing.assert_array_equal(all_of(tmp_path / "out"), rows)


def test_a_sample_is_not_enough_to_mend(tmp_path: Path) -> None:
    """Rows that the sample does not meet were flattened in the other order."""
    rows = one_hot(5000, 4, 6)
    stored = rows.reshape(5000, -1).copy()
    stored[3001] = rows[3001].swapaxes(0, 1).reshape(-1)
    data = write_shards(tmp_path / "data", stored)
    layout = Layout(steps=4, features=6)
    assert verdict(data, layout=layout).scenario is Scenario.FLATTENED
    with pytest.raises(BadInput, match="hold steps that do not sum to 1 so"):
        mend(data, tmp_path / "out", layout)
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_over(tmp_path: Path) -> None:
    data = write_shards(tmp_path / "data", FREE)
    before = (data / "part-0.npy").read_bytes()
    with pytest.raises(WrongCall, match="is there already"):
        mend(data, data, LAYOUT)
    assert (data / "part-0.npy").read_bytes() == before


def test_rows_that_are_wrong_are_not_mended(tmp_path: Path) -> None:
    rows = FREE.copy()
    rows[41, 3, 7] = np.nan
    data = write_shards(tmp_path / "data", rows[:, None])
    with pytest.raises(BadInput, match="holds nan in row 41, step 3, feature 7"):
        mend(data, tmp_path / "out", LAYOUT)
    assert not (tmp_path / "out").exists()


STORED: dict[str, Make] = {
    "flattened": lambda x: x.reshape(len(x), -1),
    "flattened-transposed": lambda x: swapped(x).reshape(len(x), -1),
    "swapped": swapped,
    "reshaped": lambda x: x.reshape(len(x), x.shape[2], x.shape[1]),
    "merged": lambda x: x.reshape(-1, x.shape[2]),
    "merged-steps-first": lambda x: x.swapaxes(0, 1).reshape(-1, x.shape[2]),
    "extra-axis": lambda x: x[None],
    "steps-rows-features": lambda x: np.ascontiguousarray(x.swapaxes(0, 1)),
}


@given(
    rows=st.integers(1, 7),
    steps=st.integers(2, 5),
    features=st.integers(2, 5),
    stored=st.sampled_from(sorted(STORED)),
    seed=st.integers(0, 9),
)
def test_nothing_true_is_ruled_out(
    rows: int,
    steps: int,
    features: int,
    stored: str,
    seed: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Whatever the sizes: rows are found as they were, or are among those that are left open."""
    made = one_hot(rows, steps, features, seed=seed)
    folder = write_shards(tmp_path_factory.mktemp("data"), STORED[stored](made))
    found = verdict(folder, layout=Layout(steps=steps, features=features))
    ways = (found.reading,) if found.reading else found.open
    if found.scenario is Scenario.AS_DECLARED:
        return  # by chance its sizes are those that were declared
    with open_values(found.header) as values:
        assert any(np.array_equal(read_rows(values, one, 0, one.rows), made) for one in ways)
