"""A second run of a script that seeds nothing is the first run again."""

import sys
from pathlib import Path

import pytest

from surefit.doctor.observations import Chance, Script
from surefit.observe.script import Launch, watch
from surefit.proof.chance import again, that_can_be_repeated

DRAWS = """
import random, sys
from pathlib import Path
names = {str(number) for number in range(50)}
drawn = [random.random(), hash("a"), *names]
if len(sys.argv) > 1:
    import numpy, torch
    drawn += [numpy.random.rand(), torch.rand(1).item()]
with open("drawn.txt", "a") as out:
    print(drawn, file=out)
"""


def drawn_in_three_runs(folder: Path, *words: str) -> list[str]:
    """The first run, another run, and the first again."""
    script = folder / "draws.py"
    script.write_text(DRAWS)
    launch = Launch((sys.executable, "draws.py", *words), folder, "draws.py")
    repeatable = that_can_be_repeated(launch)
    first = watch(repeatable, quiet=True)
    assert [one.file for one in first.recording.all(Script)] == ["draws.py"]
    watch(that_can_be_repeated(launch), quiet=True)
    with again(repeatable, first.recording) as same:
        second = watch(same, quiet=True)
    assert not list(second.recording.all(Chance))
    return (folder / "drawn.txt").read_text().splitlines()


def test_hashes_and_random_numbers_come_again(tmp_path: Path) -> None:
    first, other, second = drawn_in_three_runs(tmp_path)
    assert first == second
    assert first != other


@pytest.mark.slow
def test_those_of_numpy_and_torch_too(tmp_path: Path) -> None:
    first, other, second = drawn_in_three_runs(tmp_path, "all")
    assert first == second
    assert first != other


def test_a_seed_for_hashes_that_the_user_set_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    launch = Launch((sys.executable, "x.py"), tmp_path, "x.py")
    assert that_can_be_repeated(launch) == launch
