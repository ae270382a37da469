"""A few hostile files of each reader, seeded; `make fuzz` makes thousands, in bounds of memory."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import FrameType

import pytest

from surefit.cli import main
from tools.fuzz.readers import READERS, Reader, attempt
from tools.fuzz.worker import loud

FILES = 4
SECONDS = 120
CHANGED = 1_000
"""Files of such numbers are drawn at random; lower ones are the known hostilities in turn."""


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    def too_late(_signal: int, _frame: FrameType | None) -> None:
        raise AssertionError(f"not done in {SECONDS} s")

    signal.signal(signal.SIGALRM, too_late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_every_reader_says_something_and_runs_nothing(
    reader: Reader,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number in range(CHANGED, CHANGED + FILES):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        hostile = attempt(reader, Random(f"{reader.name} {number}"), folder, number)
        code = main(hostile.arguments)
        said = "".join(capsys.readouterr())
        assert "This is a bug in surefit" not in said, (hostile, said[-3000:])
        assert code in (0, 1, 2), hostile
        assert not loud(said), hostile
        assert not list(tmp_path.rglob("executed")), hostile


def test_what_a_terminal_obeys_is_loud() -> None:
    assert not loud("plain\nnaïve 日本")
    for character in ("\x1b", "\r", "\t", "\x7f", "\x9b", "\u202e", "\u200b", "\ud800"):
        assert loud(f"a{character}b"), ascii(character)


@pytest.mark.slow
def test_the_table_counts_what_was_made() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "tools.fuzz", "--readers", "pickle"]
    ran = subprocess.run(
        [*command, "--files", "3"], capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "| pickle | 3 | 3 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |" in ran.stdout
