"""The recording of a run that goes on."""

from pathlib import Path

from surefit.doctor.observations import NotObserved
from surefit.doctor.recording import Recording, as_line
from surefit.observe.growing import Growing

LINES = [as_line(NotObserved(name, "why")) + "\n" for name in ("first", "second", "third")]


def names(seen: Recording | None) -> list[str] | None:
    return None if seen is None else [one.what for one in seen.all(NotObserved)]


def test_a_line_is_read_once_it_is_whole(tmp_path: Path) -> None:
    growing, file = Growing(tmp_path, tmp_path), tmp_path / "1.jsonl"
    assert growing.news() is None
    file.write_text(LINES[0] + LINES[1][:10])
    assert names(growing.news()) == ["first"]
    assert growing.news() is None
    file.write_text(LINES[0] + LINES[1])
    (tmp_path / "2.jsonl").write_text(LINES[2])
    assert names(growing.news()) == ["first", "second", "third"]
    assert growing.news() is None
