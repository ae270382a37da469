"""`surefit inspect` and `surefit pack` on feature arrays, as a user calls them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.cells import cell_len

from feature_arrays import continuous, multi_hot, one_hot, write_shards
from surefit.cli import main
from surefit.data.features.array_names import LAYOUT_FILE

SIZES = ["--steps", "20", "--features", "271"]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def call(*words: str) -> tuple[int, dict[str, Any]]:
    code = main([*words, "--json", "found.json"])
    found = json.loads(Path("found.json").read_bytes())
    assert isinstance(found, dict)
    return code, found


def test_what_is_as_declared(capsys: pytest.CaptureFixture[str]) -> None:
    write_shards(Path("data"), one_hot(300), one_hot(40, seed=1))
    Path("data/readme.txt").write_text("x")
    code, found = call("inspect", "data", *SIZES)
    said = capsys.readouterr()
    assert code == 0
    assert said.err == ""
    assert max(map(cell_len, said.out.splitlines())) <= 80
    for words in (
        "data: 340 rows in 2 files, 7.37 MB",
        "[rows, 20, 271] float32",
        "as declared: 2 of 2",
        "passed over: readme.txt",
        "flipped bytes are invisible",
        "every sum over `features` is 1",
        "20 steps down, 4.23 features a column",
    ):
        assert words in said.out
    shards = found["inspection"]["shards"]
    assert [one["shape"] for one in shards] == [[300, 20, 271], [40, 20, 271]]
    assert {one["kind"] for one in shards} == {"one-hot"}
    assert shards[0]["looked_at"] == 256
    assert found["inspection"]["settings"]["steps"] == 20


def test_nothing_declared_shows_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    write_shards(Path("data"), continuous(3, 4, 6), multi_hot(5, 4, 6))
    code, found = call("inspect", "data")
    assert code == 0
    assert "nothing: --steps and --features do" in capsys.readouterr().out
    assert [one["kind"] for one in found["inspection"]["shards"]] == ["continuous", "multi-hot"]


def test_mending_leaves_the_originals_and_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    rows = one_hot(30)
    write_shards(Path("data"), rows.reshape(30, -1), rows.astype("float64"))
    before = {path.name: path.read_bytes() for path in Path("data").iterdir()}
    code, _ = call("inspect", "data", *SIZES, "--dtype", "float32", "--mend-to", "out")
    said = capsys.readouterr()
    assert code == 0, said.err
    assert "Was: `part-0.npy` is [30, 5420]" in said.out
    assert "Rewritten: 60 rows in 2 files, read back and compared" in said.out
    assert {path.name: path.read_bytes() for path in Path("data").iterdir()} == before
    for name in ("part-0.npy", "part-1.npy"):
        np.testing.assert_array_equal(np.load(Path("out") / name), rows)
    code, found = call("inspect", "out")
    assert code == 0
    assert found["inspection"]["declared"] == "[rows, 20, 271] float32, one-hot"
    assert "checksums hold for every row" in found["inspection"]["notes"]


def test_a_full_disk_leaves_nothing_half_written() -> None:
    """Files of more than 100 kB cannot be written, as if there were no more room."""
    write_shards(Path("data"), one_hot(60).reshape(60, -1))
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"
    call = f"main({['inspect', 'data', *SIZES, '--mend-to', 'out', '--quiet']!r})"
    program = f"{limit}\nfrom surefit.cli import main\nraise SystemExit({call})"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    said = " ".join(ran.stderr.split())
    assert ran.returncode == 1, said
    assert "the disk is full" in said
    assert "Make room there, then call it again." in said
    assert sorted(path.name for path in Path().iterdir()) == ["data"]


def test_what_is_not_certain_is_not_mended(capsys: pytest.CaptureFixture[str]) -> None:
    rows = continuous(30)
    write_shards(Path("data"), rows.reshape(30, -1))
    code, found = call("inspect", "data", *SIZES, "--mend-to", "out")
    said = " ".join(capsys.readouterr().err.split())
    assert code == 1
    assert len(found["findings"]) == 1
    assert "the values cannot decide" in said
    assert "--as flattened-transposed --mend-to OUT" in said
    assert not Path("out").exists()
    assert main(["inspect", "data", *SIZES, "--as", "flattened", "--mend-to", "out"]) == 0
    np.testing.assert_array_equal(np.load("out/part-0.npy"), rows)


def test_flipped_bytes_are_not_mended_away(capsys: pytest.CaptureFixture[str]) -> None:
    write_shards(Path("data"), one_hot(30))
    assert main(["inspect", "data", *SIZES, "--write-layout"]) == 0
    raw = bytearray(Path("data/part-0.npy").read_bytes())
    raw[-1] ^= 1
    Path("data/part-0.npy").write_bytes(raw)
    capsys.readouterr()
    code, found = call("inspect", "data", "--mend-to", "out")
    assert code == 1
    assert [one["code"] for one in found["findings"]] == ["SF042"]
    assert not Path("out").exists()


def test_the_layout_can_be_written_again() -> None:
    write_shards(Path("data"), one_hot(30))
    assert main(["inspect", "data", *SIZES, "--kind", "multi-hot", "--write-layout"]) == 0
    first = json.loads(Path("data", LAYOUT_FILE).read_bytes())
    assert (first["kind"], first["rows_in_block"]) == ("multi-hot", 64)
    np.save("data/part-1.npy", one_hot(5))
    assert main(["inspect", "data"]) == 1
    assert main(["inspect", "data", "--kind", "one-hot", "--write-layout"]) == 0
    again = json.loads(Path("data", LAYOUT_FILE).read_bytes())
    assert again["kind"] == "one-hot"
    assert [one["rows"] for one in again["shards"]] == [30, 5]
    assert main(["inspect", "data"]) == 0


def test_a_layout_is_not_written_for_rows_that_are_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A sample does not meet the row; reading all rows does."""
    rows = continuous(5000, 4, 6)
    rows[3001, 2, 1] = np.nan
    write_shards(Path("data"), rows)
    sizes = ["--steps", "4", "--features", "6"]
    assert main(["inspect", "data", *sizes, "--no-verify"]) == 0
    assert "only a sample of the rows was read" in capsys.readouterr().out
    assert main(["inspect", "data", *sizes, "--write-layout"]) == 1
    assert "holds nan in row 3,001, step 2, feature 1" in " ".join(capsys.readouterr().err.split())
    assert not Path("data", LAYOUT_FILE).exists()


@pytest.mark.parametrize("sizes", [[], ["--steps", "4", "--features", "6"]])
def test_every_row_is_looked_at(sizes: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    rows = continuous(400, 4, 6)
    rows[390, 2, 1] = np.nan
    rows[395, 0, 5] = np.inf
    write_shards(Path("data"), rows)
    assert main(["inspect", "data", *sizes]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "holds nan in row 390, step 2, feature 1" in said
    assert "2 of 400 that were looked at: rows 390 to 395" in said


def test_one_row_of_another_kind_is_met() -> None:
    rows = one_hot(400, 4, 6)
    rows[390, 2] = 1
    write_shards(Path("data"), rows)
    kind = ["--steps", "4", "--features", "6", "--kind", "one-hot"]
    code, found = call("inspect", "data", *kind)
    assert code == 1
    assert "1 of 400 rows" in found["findings"][0]["headline"]


def advised(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().err.split())


def test_sizes_are_advised_as_the_arrays_are(capsys: pytest.CaptureFixture[str]) -> None:
    write_shards(Path("data"), continuous(40, 30, 12))
    assert main(["pretrain", "--data-path", "data"]) == 1
    said = advised(capsys)
    assert "--steps 30 --features 12 (`steps=30, features=12` in Python)" in said
    assert "271" not in said
    np.save("data/part-0.npy", continuous(40, 30, 12).reshape(40, 360))
    assert main(["pretrain", "--data-path", "data"]) == 1
    said = advised(capsys)
    assert "[40, 360] float32" in said
    assert "--steps STEPS --features FEATURES" in said


@pytest.mark.parametrize("sizes", [[], ["--steps", "30", "--features", "12"]])
def test_inspect_and_pretrain_refuse_the_same_type(
    sizes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    write_shards(Path("data"), continuous(40, 30, 12).astype("float64"))
    code, found = call("inspect", "data", *sizes)
    assert (code, [one["code"] for one in found["findings"]]) == (1, ["SF038"])
    assert "--dtype float64" in advised(capsys)
    declared = ["--steps", "30", "--features", "12", "--dtype", "float64"]
    assert main(["inspect", "data", *declared]) == 0


@pytest.mark.parametrize(
    ("command", "sizes"),
    [
        ("inspect", []),
        ("inspect", ["--steps", "4", "--features", "6"]),
        ("pack", ["--steps", "4", "--features", "6"]),
    ],
)
def test_labels_beside_features_are_labels(
    command: str, sizes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("data").mkdir()
    np.save("data/features.npy", one_hot(30, 4, 6))
    np.save("data/labels.npy", np.arange(30) % 2)
    assert main([command, "data", *(["out"] if command == "pack" else []), *sizes]) == 1
    said = capsys.readouterr()
    assert "multi-hot" not in said.out
    words = " ".join(said.err.split())
    assert "`labels.npy` holds one number for each of the 30 rows of `features.npy`" in words
    assert "--dtype" not in words
    assert main(["inspect", "data/features.npy", *sizes]) == 0


def write_config(**values: object) -> None:
    Path("model").mkdir(exist_ok=True)
    Path("model/config.json").write_text(json.dumps({"hidden_size": 64, **values}))


def test_a_model_that_fits_and_one_that_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    write_shards(Path("data"), one_hot(9))
    write_config(max_position_embeddings=512)
    assert main(["inspect", "data", *SIZES, "--model", "model"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "20 steps, and the model has 512 positions: fits" in said
    assert "256 x 20 x 271 x 4 bytes = 5.55 MB; 2,162 of them in 12 GB: fits" in said
    write_config(max_position_embeddings=16, features=4000, steps=999)
    code, found = call("inspect", "data", *SIZES, "--model", "model/config.json")
    assert code == 1
    (wrong,) = found["findings"]
    assert wrong["code"] == "SF046"
    facts = {fact["name"]: fact["value"] for fact in wrong["facts"]}
    assert facts["projection"].endswith("takes 4000 features; 271 are declared")
    assert facts["positions"] == "20 steps, and the model has 16 positions"
    assert facts["steps"] == "made for rows of 999 steps; 20 are declared"
    assert main(["inspect", "data", *SIZES, "--model", "modle"]) == 1


def test_a_file_alone_and_tables_by_their_flags() -> None:
    write_shards(Path("data"), one_hot(9, 4, 6))
    assert main(["inspect", "data/part-0.npy", "--steps", "4", "--features", "6"]) == 0
    pq.write_table(
        pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(240, "float32")), 24)}),
        "rows.parquet",
    )
    code, found = call("inspect", "rows.parquet", "--steps=4", "--features=6")
    assert code == 1
    assert "flattened" in found["findings"][0]["headline"]


def test_settings_of_a_file() -> None:
    write_shards(Path("data"), one_hot(9, 4, 6), continuous(9, 4, 6))
    Path("arrays.toml").write_text('[inspect]\ndata = "data"\nsteps = 4\nfeatures = 6\n')
    code, found = call("inspect", "--config", "arrays.toml")
    assert code == 0
    several = "files are of several kinds: one-hot in 1 (part-0.npy), continuous in 1 (part-1.npy)"
    assert several in found["inspection"]["notes"]
    assert main(["inspect", "--config", "none.toml"]) == 2


def test_text_rows_keep_their_own_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--help"]) == 0
    said = capsys.readouterr().out
    assert "--max-tokens" in said
    assert "--mend-to" not in said
    assert "surefit inspect DIR --help" in said
    write_shards(Path("data"), one_hot(9, 4, 6))
    assert main(["inspect", "data", "--help"]) == 0
    said = capsys.readouterr().out
    assert "--mend-to" in said
    assert "--max-tokens" not in said
    assert max(map(cell_len, said.splitlines())) <= 80
    assert main(["pack", "--help"]) == 0
    assert max(map(cell_len, capsys.readouterr().out.splitlines())) <= 80
    assert main(["inspect", "data", "--step", "4"]) == 2
    assert "`--steps`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rows", "times"), [(one_hot(60), "542"), (multi_hot(60), "32")], ids=["one-hot", "multi-hot"]
)
def test_packing(rows: np.ndarray, times: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_shards(Path("data"), rows)
    code, found = call("pack", "data", "out", *SIZES)
    said = capsys.readouterr()
    assert code == 0, said.err
    assert f": {times} times smaller" in said.out
    assert found["packed"]["rows"] == 60
    assert main(["inspect", "out"]) == 0
    assert "packed as" in capsys.readouterr().out
