"""Ends without an exception, on hand-made recordings."""

from dataclasses import replace

import pytest

from surefit.doctor.findings import Finding, Place, Severity
from surefit.doctor.observations import Crash, Death, Observation, Process, Script
from surefit.doctor.recording import Recording
from surefit.rules.run.died_without_exception import RULE

STACK = (
    "Fatal Python error: Segmentation fault\n\nCurrent thread 0x02 (most recent call first):\n"
    '  File "/home/me/train.py", line 9 in checksum\n'
    '  File "/env/lib/site-packages/torch/nn.py", line 12 in call\n'
    '  File "/src/surefit/observe/inside/main_program.py", line 79 in _run_code\n'
    '  File "<frozen runpy>", line 198 in _run_module_as_main\n\n'
    'Thread 0x01 (most recent call first):\n  File "/x/other.py", line 3 in wait\n'
)
DEATH = Death(
    Process(1),
    "signal",
    "SIGSEGV",
    139,
    peak=300_000_000,
    limit=8_000_000_000,
    last="in step 3",
    stacks={"process 1": STACK},
    place=Place("train.py", 9),
)


def found(*seen: Observation) -> list[Finding]:
    return list(RULE.look(Recording([Script("train.py", "", main=True), *seen])))


def test_a_signal_with_the_last_thing_seen_and_the_stack() -> None:
    (finding,) = found(DEATH)
    assert finding.place == Place("train.py", 9)
    assert finding.headline == "The process was ended by SIGSEGV, and could raise no exception."
    assert [(fact.name, fact.value) for fact in finding.facts] == [
        ("last seen", "in step 3"),
        ("most memory in use", "300.0 MB of 8.0 GB"),
        ("it stood at", "train.py:9 checksum\ntorch/nn.py:12 call"),
    ]
    assert [fix.edit for fix in finding.fixes] == [None]


def test_a_hang_shows_where_each_process_waits() -> None:
    stacks = {"process 1": STACK, "process 2": STACK.replace("line 9", "line 8")}
    (finding,) = found(replace(DEATH, how="hang", signal="", stacks=stacks))
    assert finding.headline == "The process stood still, and was ended."
    facts = {fact.name: fact.value for fact in finding.facts}
    assert facts["process 2 stood at"].startswith("train.py:8 checksum")


def test_os_exit() -> None:
    (finding,) = found(Death(Process(1), "exit", code=7))
    assert finding.headline.startswith("The process ended with code 7 by `os._exit`")
    assert finding.place == Place("train.py")


def test_a_worker_is_named() -> None:
    (finding,) = found(replace(DEATH, process=Process(2, "worker", worker=3), signal="SIGBUS"))
    assert finding.headline.startswith("Worker 3 of a loader was ended by SIGBUS")
    assert "--shm-size" in finding.fixes[0].text


def test_to_be_asked_to_end_is_a_warning() -> None:
    (finding,) = found(replace(DEATH, signal="SIGTERM"))
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize(
    "death",
    [
        replace(DEATH, signal="SIGINT"),
        replace(DEATH, signal="SIGKILL", oom_killed=True),
        Death(Process(1), "exit", code=0),
    ],
    ids=["Ctrl-C", "memory", "code 0"],
)
def test_silence(death: Death) -> None:
    assert found(death) == []


def test_ranks_that_a_launcher_ends_after_a_crash_are_consequences() -> None:
    crash = Crash("1", 1.0, Process(7, "rank", 1, 2), "ValueError", "ValueError: x")
    ended = replace(DEATH, process=Process(8, "rank", 0, 2), signal="SIGTERM")
    assert found(crash, ended) == []
    assert len(found(crash, replace(ended, signal="SIGSEGV"))) == 1
