"""Files of the user's: opened, or refused before anything is read."""

import os
from errno import EFBIG
from pathlib import Path

import pytest

from surefit.user_files import (
    FileTooLarge,
    NotAPlainFile,
    bounded_lines,
    look_at,
    look_into,
    open_plain,
    read_plain,
)


def test_a_plain_file_is_read_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"one\ntwo")
    (tmp_path / "link").symlink_to(file)
    assert read_plain(tmp_path / "link", most=7) == b"one\ntwo"
    with open_plain(file) as opened:
        assert list(bounded_lines(opened, most=4)) == [b"one\n", b"two"]


def test_more_than_the_bound_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "a"
    with file.open("wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(FileTooLarge, match="1,099,511,627,776 bytes; at most 7") as refused:
        read_plain(file, most=7)
    assert refused.value.errno == EFBIG
    with open_plain(file) as opened, pytest.raises(FileTooLarge, match="line 1 is longer"):
        next(bounded_lines(opened, most=1000))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/dev/zero", "a device"),
        ("/dev/null", "a device"),
        ("/proc/self/environ", "made by the kernel"),
    ],
)
def test_what_is_no_file_is_named(path: str, kind: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(path)
    for way in (Path(path), link):
        with pytest.raises(NotAPlainFile, match=kind):
            open_plain(way)


def test_an_empty_file_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    assert read_plain(tmp_path / "empty", most=0) == b""
    assert look_at(tmp_path).st_mode


def test_a_folder_is_looked_into_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "nowhere").symlink_to("gone")
    look_into(tmp_path)
    os.mkfifo(tmp_path / "deep" / "er" / "config.json")
    with pytest.raises(NotAPlainFile, match="a FIFO"):
        look_into(tmp_path)
