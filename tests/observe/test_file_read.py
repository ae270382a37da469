"""What the file was that a library read when memory ran out."""

import sys
from pathlib import Path
from types import FrameType

import numpy
import pytest

from surefit.observe.inside.autopsy.probes.file_read import answer


def load(file: object) -> FrameType:
    assert file
    return sys._getframe()


def test_size_and_header_of_an_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    numpy.save("part.npy", numpy.zeros((3, 4), "float16"))
    said = answer([load("part.npy")], {"function": "load"})
    assert said == {"file": "part.npy", "bytes": 152, "shape": [3, 4], "dtype": "float16"}


def test_an_open_file_and_one_that_is_no_array(tmp_path: Path) -> None:
    other = tmp_path / "model.pt"
    other.write_bytes(b"12345")
    with other.open("rb") as opened:
        said = answer([load(opened)], {"function": "load"})
    assert said == {"file": str(other), "bytes": 5}
    assert answer([load("not there")], {"function": "load"}) is None
    assert answer([load(other)], {"function": "read_csv"}) is None
