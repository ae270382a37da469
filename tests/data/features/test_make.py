"""Made rows lie in files as they were drawn, however many files there are."""

from pathlib import Path

import numpy as np
import pytest

from surefit.cli import main
from surefit.data.features.layout import Kind
from surefit.data.features.make import PART, Source, make_features, read_source

SOURCE = Source(steps=3, features=5, kind=Kind.ONE_HOT, seed=1)


def rows_in(folder: Path) -> np.ndarray:
    return np.concatenate([np.load(file) for file in sorted(folder.glob("*.npy"))])


@pytest.mark.parametrize("files", [1, 3])
def test_rows_do_not_depend_on_the_number_of_files(tmp_path: Path, files: int) -> None:
    told: list[int] = []
    make_features(tmp_path / "made", SOURCE, PART + 7, files, told.append)
    drawn = np.concatenate([SOURCE.draw(PART, 0), SOURCE.draw(PART, 1)[:7]])
    np.testing.assert_array_equal(rows_in(tmp_path / "made"), drawn)
    assert len(list((tmp_path / "made").glob("*.npy"))) == files
    assert sum(told) == PART + 7
    assert read_source(tmp_path / "made") == SOURCE


def test_a_folder_of_other_rows_has_no_source(tmp_path: Path) -> None:
    assert read_source(tmp_path) is None


def test_the_command_makes_rows_and_refuses_a_folder_in_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "rows"
    call = ["make-data", "features", "--rows", "20", "--features", "7", "--out", str(out)]
    assert main(call) == 0
    assert "20 rows [rows, 20, 7] float32, one-hot" in " ".join(capsys.readouterr().out.split())
    before = {file: file.read_bytes() for file in out.iterdir()}
    assert main(call) == 1
    assert {file: file.read_bytes() for file in out.iterdir()} == before
    assert main(["make-data", "features", "--rows", "0", "--out", str(tmp_path / "none")]) == 2
