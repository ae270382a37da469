"""Headers of files, and which files the user's own code names."""

import sys
from pathlib import Path

import numpy
import pytest
import torch

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.array_files import headers
from surefit.observe.inside.autopsy.probes.arrays_on_disk import answer


def test_headers(tmp_path: Path) -> None:
    numpy.save(tmp_path / "a.npy", numpy.zeros((3, 4), "float16"))
    numpy.savez(tmp_path / "b.npz", x=numpy.zeros((2, 5)), y=numpy.zeros(2))
    torch.save({"x": torch.zeros(2, 7), "n": 3}, tmp_path / "c.pt")
    (tmp_path / "d.npy").write_bytes(b"no array")
    assert list(headers(str(tmp_path / "a.npy"))) == [((3, 4), "float16")]
    assert list(headers(str(tmp_path / "b.npz"))) == [((2, 5), "float64"), ((2,), "float64")]
    assert list(headers(str(tmp_path / "c.pt"))) == [((2, 7), "float32")]
    assert list(headers(str(tmp_path / "d.npy"))) == []
    assert list(headers(str(tmp_path / "e.csv"))) == []


def test_files_that_the_frames_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_code, "own", lambda _code: True)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data" / "pretrain"
    folder.mkdir(parents=True)
    for number in range(2):
        numpy.save(folder / f"part-{number}.npy", numpy.zeros((3, 9, 40)))
    numpy.save("other.npy", numpy.zeros((3, 41)))

    def trains(folder: Path) -> object:
        assert folder
        return answer([sys._getframe()], {"width": 40})

    shape = [3, 9, 40]
    files = [{"file": f"data/pretrain/part-{number}.npy", "shape": shape} for number in range(2)]
    assert trains(folder) == {"files": files}
