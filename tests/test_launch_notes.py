"""Notes between processes of one machine: whole, by number, and claimed once."""

import subprocess
import sys
from pathlib import Path

from surefit.launch_notes import Notes, is_alive


def test_a_note_is_read_by_number_and_name(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    notes.put(1, "ended", {"code": 3})
    assert notes.read(1, "ended") == {"code": 3}
    assert notes.read(0, "ended") is None
    (tmp_path / "0.ended").write_text('{"co')
    assert notes.read(0, "ended") is None


def test_what_is_claimed_goes_to_the_first(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    assert notes.claim("SF101")
    assert not Notes(tmp_path).claim("SF101")
    assert notes.claim("SF102")
    assert notes.claimed() == ["SF101", "SF102"]


def test_a_process_is_gone_when_it_was_here_and_has_ended(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    assert not notes.is_gone(0), "it has not come yet"
    notes.arrive(0)
    assert not notes.is_gone(0)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    notes.put(1, "here", {"pid": ended.pid})
    assert notes.is_gone(1)
    assert not is_alive(ended.pid)
