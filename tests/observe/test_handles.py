"""Which descriptors an object reads through."""

import io
import zipfile
from pathlib import Path

from surefit.observe.inside.autopsy.handles import DEPTH, descriptors_of, inherited


def test_files_and_what_libraries_wrap_around_them(tmp_path: Path) -> None:
    path = tmp_path / "rows.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("row", b"1")
    with zipfile.ZipFile(path) as archive, path.open("rb") as plain:
        assert archive.fp is not None
        assert list(descriptors_of(archive, DEPTH)) == [archive.fp.fileno()]
        assert list(descriptors_of(plain, DEPTH)) == [plain.fileno()]
    assert list(descriptors_of(plain, DEPTH)) == []


def test_what_lies_in_memory_or_is_only_written_has_none(tmp_path: Path) -> None:
    assert list(descriptors_of(io.BytesIO(b"1"), DEPTH)) == []
    with (tmp_path / "log").open("w") as log:
        assert list(descriptors_of(log, DEPTH)) == []


def test_a_file_of_this_process_alone_is_not_inherited(tmp_path: Path) -> None:
    with (tmp_path / "rows").open("w+b") as own:
        assert inherited(own.fileno()) == ""
    assert inherited(1) == ""
