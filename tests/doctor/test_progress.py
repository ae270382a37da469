"""Counts of steps, by process."""

from dataclasses import replace

from surefit.doctor.observations import Crash, Process, Steps
from surefit.doctor.progress import final_steps, first_crash, steps_before, steps_taken
from surefit.doctor.recording import Recording


def steps(taken: int, pid: int = 1, rank: int | None = None) -> Steps:
    return Steps(Process(pid, rank=rank), taken, 1.0, taken, {}, (), backwards=taken)


def crash(identity: str, at: float, taken: int = 0) -> Crash:
    return Crash(identity, at, Process(1), "ValueError", "no", steps=taken)


def test_the_last_count_of_each_process() -> None:
    seen = Recording([steps(1), steps(5, 2, 1), steps(3), steps(0, 3)])
    assert [(one.process.pid, one.steps) for one in final_steps(seen)] == [(1, 3), (2, 5)]
    assert [one.steps for one in final_steps(seen, 1)] == [5]
    assert steps_taken(seen) == 5
    assert steps_taken(Recording([])) == 0


def test_the_first_crash_that_ended_something() -> None:
    caught = replace(crash("caught", 1.0), swallowed=True)
    seen = Recording([crash("late", 9.0), caught, crash("early", 3.0)])
    found = first_crash(seen)
    assert found is not None
    assert found.id == "early"
    assert first_crash(Recording([caught])) is None


def test_a_worker_takes_no_steps_of_its_own() -> None:
    worker = crash("worker", 1.0)
    passed_on = replace(crash("main", 2.0, 7), raised_in="worker")
    seen = Recording([worker, passed_on])
    assert steps_before(worker, seen) == 7
    assert steps_before(passed_on, seen) == 7
