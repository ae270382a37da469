"""Ends without an exception: what the parent saw, and the line that was being run."""

import signal
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from forked import forking
from running import observed, plainly, surefit_run, written
from surefit.doctor.observations import Death, NotObserved
from surefit.observe import process_tree, watching
from surefit.observe.script import Launch, Watched, watch

GIB = 1 << 30


def watched(tmp_path: Path, text: str, *words: str, hang_after: float | None = None) -> Watched:
    main = written(tmp_path, main=text)
    launch = Launch((sys.executable, str(main), *words), tmp_path, "main.py")
    with forking() if "torch" in text else nullcontext():
        return watch(launch, quiet=True, hang_after=hang_after)


def death(found: Watched) -> Death:
    (one,) = found.recording.all(Death)
    return one


SIGNALLED = {
    "SIGSEGV": """
        import ctypes
        def crashes(address):
            ctypes.string_at(address)
        crashes(0)
    """,
    "SIGBUS": """
        import mmap
        with open("shrinking", "wb+") as file:
            file.truncate(8192)
            mapped = mmap.mmap(file.fileno(), 8192)
            file.truncate(0)
        mapped[5000]
    """,
    "SIGABRT": """
        import os
        os.abort()
    """,
    "SIGKILL": """
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)
    """,
    "SIGTERM": """
        import os, signal
        os.kill(os.getpid(), signal.SIGTERM)
    """,
}
LINES = {"SIGSEGV": 3, "SIGBUS": 6, "SIGABRT": 2, "SIGKILL": None, "SIGTERM": None}


@pytest.mark.parametrize("name", SIGNALLED)
def test_signal_and_the_line_that_was_being_run(name: str, tmp_path: Path) -> None:
    found = watched(tmp_path, SIGNALLED[name])
    number = signal.Signals[name]
    assert found.code == 128 + number
    one = death(found)
    assert (one.how, one.signal, one.code) == ("signal", name, 128 + number)
    assert one.process.role == "main"
    assert not one.oom_killed
    line = LINES[name]
    assert (one.place and str(one.place)) == (f"main.py:{line}" if line else None)
    assert one.at > 0


def test_dies_of_the_same_signal_and_says_nothing_more(tmp_path: Path) -> None:
    """Python's fault handler prints into the spool, not among what the script prints."""
    main = written(tmp_path, main=SIGNALLED["SIGSEGV"])
    plain, ran = plainly([main], tmp_path), observed([main], tmp_path)
    assert plain.code == -signal.SIGSEGV
    assert (ran.code, ran.out, ran.err) == (plain.code, plain.out, plain.err)


def test_a_fault_handler_of_the_users_own_keeps_its_place(tmp_path: Path) -> None:
    main = written(
        tmp_path, main="import faulthandler\nfaulthandler.enable()\nimport os\nos.abort()"
    )
    plain, ran = plainly([main], tmp_path), observed([main], tmp_path)
    assert "Fatal Python error: Aborted" in plain.err
    assert "Fatal Python error: Aborted" in ran.err
    also = observed([main], tmp_path, PYTHONFAULTHANDLER="1")
    assert "Fatal Python error: Aborted" in also.err


def test_exit_that_runs_nothing_more(tmp_path: Path) -> None:
    found = watched(
        tmp_path,
        """
        import os
        def leave(code):
            os._exit(code)
        leave(7)
        """,
    )
    assert found.code == 7
    one = death(found)
    assert (one.how, one.code, str(one.place)) == ("exit", 7, "main.py:3")


def test_a_forked_child_that_leaves_by_exit_has_written_its_counts(tmp_path: Path) -> None:
    ran = observed(
        [
            written(
                tmp_path,
                main="""
                    import os
                    if os.fork() == 0:
                        for text in "ab":
                            try:
                                int(text)
                            except ValueError:
                                pass
                        os._exit(0)
                    os.wait()
                """,
            )
        ],
        tmp_path,
    )
    (one,) = ran.swallowed
    assert (one.times, one.entries, one.process.role) == (2, 2, "child")


HANGS = """
    import threading, time
    def waits(seconds):
        time.sleep(seconds)
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    waits(60)
"""


def test_hang_with_the_stack_of_every_thread(tmp_path: Path) -> None:
    found = watched(tmp_path, HANGS, hang_after=2.0)
    assert found.stopped == "hang"
    assert found.code == 128 + signal.SIGTERM
    one = death(found)
    assert one.how == "hang"
    (stack,) = one.stacks.values()
    assert stack.count("most recent call first") == 2
    assert str(one.place) == "main.py:3"


@pytest.mark.slow
def test_hang_tells_the_last_event(tmp_path: Path) -> None:
    found = watched(
        tmp_path,
        """
        import time, torch
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
        time.sleep(120)
        """,
        hang_after=5.0,
    )
    assert found.stopped == "hang"
    assert death(found).last == "after an optimizer's step, with 3 optimizer steps completed"


def test_events_keep_a_run_from_counting_as_hung(tmp_path: Path) -> None:
    """Without training there are no events; a run that ends in time has not hung."""
    found = watched(tmp_path, "import time; time.sleep(0.5)", hang_after=20.0)
    assert (found.stopped, found.code) == ("", 0)


class Full(process_tree.Kernel):
    """A machine with a little memory, all of it used."""

    def __init__(self) -> None:
        self.killed = 3
        self.limit = GIB

    def killed_for_memory(self, peak: int) -> bool:
        return peak > 0


def test_killed_for_want_of_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "Kernel", Full)
    killed = "import os, signal, time; time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)"
    one = death(watched(tmp_path, killed))
    assert one.oom_killed
    assert one.limit == GIB
    assert one.peak is not None
    assert one.peak > 1 << 20


@pytest.mark.parametrize(
    ("before", "after", "limit", "peak", "killed"),
    [
        (3, 4, 8 * GIB, GIB, True),
        (3, 3, 8 * GIB, GIB, False),
        (3, 3, 8 * GIB, int(7.5 * GIB), True),
        (None, None, 8 * GIB, GIB, False),
        (None, None, None, GIB, False),
    ],
)
def test_when_a_kill_was_for_memory(
    before: int | None,
    after: int | None,
    limit: int | None,
    peak: int,
    killed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = iter([before, after])
    monkeypatch.setattr(process_tree.Kernel, "_kills", staticmethod(lambda: next(counts)))
    monkeypatch.setattr(process_tree.Kernel, "_limit", staticmethod(lambda: limit))
    assert process_tree.Kernel().killed_for_memory(peak) is killed


def test_the_kernel_says_how_much_there_is() -> None:
    kernel = process_tree.Kernel()
    assert kernel.limit is not None
    assert kernel.limit > 1 << 26


CHILDREN = """
    import multiprocessing, os, signal, subprocess, sys

    def dies(name):
        os.kill(os.getpid(), signal.Signals[name])

    if __name__ == "__main__":
        process = multiprocessing.get_context("fork").Process(target=dies, args=(sys.argv[1],))
        process.start()
        process.join()
        code = f"import os, signal; os.kill(os.getpid(), signal.{sys.argv[1]})"
        also = subprocess.run([sys.executable, "-c", code])
        print(process.exitcode, also.returncode)
        sys.exit(int(sys.argv[2]))
"""


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL"])
def test_children_that_a_signal_ended(name: str, tmp_path: Path) -> None:
    found = watched(tmp_path, CHILDREN, name, "3")
    assert found.code == 3
    deaths = list(found.recording.all(Death))
    assert [(one.how, one.signal, one.process.role) for one in deaths] == [
        ("signal", name, "child"),
        ("signal", name, "child"),
    ]


def test_children_may_die_in_a_run_that_ends_well(tmp_path: Path) -> None:
    found = watched(tmp_path, CHILDREN, "SIGSEGV", "0")
    assert found.code == 0
    assert list(found.recording.all(Death)) == []


def test_children_that_the_script_itself_kills(tmp_path: Path) -> None:
    found = watched(
        tmp_path,
        """
        import multiprocessing, os, signal, subprocess, sys, time
        if __name__ == "__main__":
            process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
            process.start()
            process.kill()
            process.join()
            other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
            os.kill(other.pid, signal.SIGKILL)
            other.wait()
            third = subprocess.Popen(["sleep", "60"], start_new_session=True)
            os.killpg(third.pid, signal.SIGKILL)
            third.wait()
            sys.exit(3)
        """,
    )
    assert found.code == 3
    assert list(found.recording.all(Death)) == []


@pytest.mark.slow
def test_a_loaders_worker_that_is_killed(tmp_path: Path) -> None:
    """The main process raises only that a worker died; which one and of what is the cause."""
    main = written(
        tmp_path,
        main="""
            import os, signal
            import torch
            from torch.utils.data import DataLoader, Dataset
            class Rows(Dataset):
                def __len__(self):
                    return 8
                def __getitem__(self, at):
                    if at == 6:
                        os.kill(os.getpid(), signal.SIGSEGV)
                    return torch.zeros(2)
            for batch in DataLoader(Rows(), batch_size=2, num_workers=2):
                pass
        """,
    )
    ran = surefit_run([main], tmp_path, ["--no-proof"])
    assert ran.code == 1
    (one,) = ran.seen.all(Death)
    assert (one.signal, one.process.role, one.process.worker) == ("SIGSEGV", "worker", 1)
    assert ran.rules() == ["died-without-exception"]
    assert "Worker 1 of a loader" in ran.document["findings"][0]["headline"]


def test_a_run_that_cannot_start_python_properly_is_said(tmp_path: Path) -> None:
    """The boot file itself fails: the program runs, and one line says that nobody watched."""
    broken = tmp_path / "broken"
    broken.mkdir()
    written(broken, dataclasses="raise RuntimeError('broken on purpose')")
    main = written(tmp_path, main="print('ran')")
    launch = Launch((sys.executable, str(main)), tmp_path)
    found = watch(launch, quiet=True, environment={"PYTHONPATH": str(broken)})
    assert found.code == 0
    (said,) = found.recording.all(NotObserved)
    assert said.why.startswith("surefit: this run is not observed: RuntimeError: broken on purpose")
