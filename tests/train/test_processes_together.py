"""What processes tell each other; run under `torchrun`, this file is two of them."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist

from surefit.doctor.findings import Place
from surefit.errors import BadInput, SurefitError
from surefit.launch_notes import shared_folder
from surefit.render import console, outcome
from surefit.train.first_here import first_here_then_others
from surefit.train.launch import Launch, this_launch
from surefit.train.lost_process import (
    is_broken_collective,
    lost_process,
    noticing_death,
)
from surefit.train.one_voice import as_one_command, only_first_speaks
from surefit.train.ranks import Ranks, leave_together
from surefit.train.record import HOLDS_A_RUN, NOT_A_RUN, RunFolder


def refused() -> BadInput:
    return BadInput(HOLDS_A_RUN.finding(Place("run"), "It holds a run."))


def test_alone_nothing_needs_a_process_group() -> None:
    ranks = Ranks()
    assert ranks.is_first
    assert ranks.is_first_here
    assert ranks.summed(1.5, 2) == [1.5, 2]
    assert ranks.gathered(["a", "b"]) == ["a", "b"]
    assert ranks.first_does(lambda: 7) == 7
    assert (ranks.any(True), ranks.any(False)) == (True, False)
    ranks.wait()
    leave_together()
    assert not dist.is_initialized()


def test_alone_everybody_is_the_first_and_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert this_launch() == Launch()
    assert first_here_then_others(lambda: "made", lambda: "read") == "made"
    with only_first_speaks():
        assert not console.quiet
    with pytest.raises(BadInput), as_one_command():
        raise refused()


def test_errors_that_are_no_broken_collective_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(RuntimeError, match="out of memory"), noticing_death():
        raise RuntimeError("CUDA out of memory")
    with pytest.raises(BadInput, match="Another process of this run ended"), noticing_death():
        raise RuntimeError("[/x/gloo/transport/tcp/pair.cc:553] Connection closed by peer")
    assert is_broken_collective(dist.DistBackendError("NCCL error"))


def test_the_word_names_the_rank_the_step_and_how_to_go_on(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.settings_file.write_text("{}")
    folder.metrics_file.write_text('{"step": 4}\n{"step": 5}\n')
    (folder.checkpoints / "step-0000004").mkdir(parents=True)
    (finding,) = lost_process(0, [3], folder).findings
    assert finding.headline.startswith("Rank 3 of this run ended after step 5;")
    assert [str(fact.value) for fact in finding.facts] == ["rank 0", "step 4"]
    assert finding.fixes[0].text.endswith(f"surefit sft --resume {tmp_path}")
    (bare,) = lost_process(2, ()).findings
    assert bare.headline.startswith("Another process of this run ended;")
    assert not bare.fixes


@pytest.fixture(autouse=True)
def signals_put_back() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def first_of_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Launch]:
    """This process as the first of two on a machine, of which the second has ended."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.setenv(name, "2")
    for name in ("RANK", "LOCAL_RANK"):
        monkeypatch.setenv(name, "0")
    launch = this_launch()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert launch.notes
    launch.notes.put(1, "here", {"pid": ended.pid})
    yield launch
    outcome.begin()


def test_the_word_comes_before_the_launcher_ends_this_process(
    first_of_two: Launch, tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    folder.metrics_file.write_text('{"step": 4}\n')
    with (
        pytest.raises(BadInput, match="Rank 1 of this run ended after step 4"),
        as_one_command(),
        noticing_death(folder),
    ):
        signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)  # the launcher has less patience than the terminal
    assert first_of_two.gone() == []  # the notes are taken away with the last


SIGNALLED_AT_THE_END = """
import os, signal
from surefit.train.one_voice import as_one_command

class Late:
    def __del__(self, kill=os.kill, this=os.getpid(), number=signal.SIGTERM):
        kill(this, number)
        print("signalled")

late = Late()
with as_one_command():
    pass
raise SystemExit(1)
"""


@pytest.mark.parametrize("number_of_processes", [1, 2])
def test_the_launcher_does_not_end_a_process_that_ends(
    number_of_processes: int, tmp_path: Path
) -> None:
    """Not even while Python takes its modules down; alone, there is no launcher."""
    names = {"RANK": 0, "WORLD_SIZE": 2, "LOCAL_RANK": 0, "LOCAL_WORLD_SIZE": 2}
    launch = {name: str(number) for name, number in names.items()}
    ended = subprocess.run(
        [sys.executable, "-c", SIGNALLED_AT_THE_END],
        env={**os.environ, "TMPDIR": str(tmp_path), **(launch if number_of_processes > 1 else {})},
        capture_output=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (
        (1, b"signalled\n") if number_of_processes > 1 else (-signal.SIGTERM, b"")
    ), ended.stderr


def test_others_do_not_wait_for_a_first_process_that_is_gone(
    first_of_two: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert first_of_two.notes
    for name in ("RANK", "LOCAL_RANK"):
        monkeypatch.setenv(name, "1")
    gone = first_of_two.notes.read(1, "here")
    assert gone
    first_of_two.notes.put(0, "here", gone)
    with pytest.raises(BadInput, match="Rank 0 of this run ended;"):
        first_here_then_others(lambda: "made", lambda: "read")


WORLD = 2


def exchanged(ranks: Ranks) -> dict[str, Any]:
    """Everything that `Ranks` can do, on both."""
    calls: list[int] = []

    def made() -> str:
        calls.append(ranks.rank)
        return "made"

    found = {
        "summed": ranks.summed(1.0 + ranks.rank, 0.1),
        "gathered": ranks.gathered(["x"] * (1 + 2 * ranks.rank) + [str(ranks.rank)]),
        "nothing": ranks.gathered([]),
        "any": [ranks.any(ranks.rank == 1), ranks.any(False)],
        "first": ranks.first_does(made),
        "calls": len(calls),
        "turn": first_here_then_others(lambda: "made", lambda: "read"),
    }
    ranks.wait()
    return found


def failing_first(ranks: Ranks) -> dict[str, Any]:
    """What each process sees when the first one fails, in a collective and before one."""

    def fail() -> None:
        raise refused()

    found = {}
    acts: dict[str, Callable[[], None]] = {
        "does": lambda: ranks.first_does(fail),
        "here": lambda: first_here_then_others(fail, fail),
    }
    for name, act in acts.items():
        try:
            act()
        except (SurefitError, SystemExit) as error:
            found[name] = [type(error).__name__, getattr(error, "code", None)]
    return found


def one_voice(ranks: Ranks) -> dict[str, Any]:
    """How a command ends on each process: by an error of both, and of one alone."""
    found: dict[str, Any] = {}
    for name, error in {
        "both": BadInput(HOLDS_A_RUN.finding(Place("run"), "It holds a run.")),
        "second": BadInput(NOT_A_RUN.finding(Place("run"), "It is none.")),
    }.items():
        try:
            with as_one_command():
                if name == "both" or ranks.rank == 1:
                    raise error
                if console.quiet:
                    raise AssertionError
                time.sleep(1.5)
        except SurefitError as raised:
            found[name] = [list(finding.ranks) for finding in raised.findings]
        except SystemExit as stop:
            found[name] = stop.code
        ranks.wait()
        shared_folder()
    return found


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two processes saw, by their numbers."""
    folder = tmp_path_factory.mktemp("ranks")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(WORLD), __file__, str(folder)]
    environment = {**os.environ, "TMPDIR": str(folder)}
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=environment
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(WORLD)]


@pytest.mark.slow
def test_all_get_the_same(seen: list[dict[str, Any]]) -> None:
    for rank, one in enumerate(seen):
        assert one["summed"] == [3.0, 0.2]
        assert one["gathered"] == ["x", "0", "x", "x", "x", "1"]
        assert one["nothing"] == []
        assert one["any"] == [True, False]
        assert one["first"] == "made"
        assert one["calls"] == (1 if rank == 0 else 0)
        assert one["turn"] == ("made" if rank == 0 else "read")


@pytest.mark.slow
def test_if_the_first_fails_the_others_end_quietly_with_its_code(
    seen: list[dict[str, Any]],
) -> None:
    for name in ("does", "here"):
        assert seen[0][name] == ["BadInput", None]
        assert seen[1][name] == ["SystemExit", 1]


@pytest.mark.slow
def test_what_both_find_is_told_by_the_first(seen: list[dict[str, Any]]) -> None:
    assert seen[0]["both"] == [[]]
    assert seen[1]["both"] == 1


@pytest.mark.slow
def test_what_one_finds_alone_is_told_with_its_rank(seen: list[dict[str, Any]]) -> None:
    assert "second" not in seen[0]
    assert seen[1]["second"] == [[1]]


if __name__ == "__main__":
    dist.init_process_group("gloo")
    here = Ranks(dist.get_rank(), dist.get_world_size(), dist.get_rank())
    result = exchanged(here) | failing_first(here) | one_voice(here)
    (Path(sys.argv[1]) / f"{here.rank}.json").write_text(json.dumps(result))
    leave_together()
