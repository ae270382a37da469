"""Which crash is the cause, and which only follows from it."""

import pytest

from surefit.doctor.causes import (
    caught_by,
    failed,
    is_cause,
    ranks_that_followed,
    was_only_read,
)
from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Death, Ended, Observation, Process, Script, Swallowed
from surefit.doctor.recording import Recording


def crash(
    name: str, at: float, process: Process, kind: str = "RuntimeError", *, swallowed: bool = False
) -> Crash:
    return Crash(name, at, process, kind, f"{kind}: {name}", swallowed=swallowed)


def recording(*seen: Observation) -> Recording:
    return Recording(list(seen))


RANK_0 = Process(10, "rank", 0, 2)
RANK_1 = Process(11, "rank", 1, 2)
LAUNCHER = Process(9, "launcher")
MAIN = Process(1)


def test_of_two_ranks_the_first_in_time() -> None:
    first, then = crash("shape", 1.0, RANK_1), crash("connection closed", 1.5, RANK_0)
    launcher = crash("child", 2.0, LAUNCHER, "torch.distributed.ChildFailedError")
    seen = recording(then, launcher, first)
    assert [one.id for one in failed(seen)] == ["shape", "connection closed", "child"]
    assert [is_cause(one, seen) for one in (first, then, launcher)] == [True, False, False]
    assert ranks_that_followed(first, seen) == [0]


def test_a_failed_subprocess_explains_the_error_of_who_called_it() -> None:
    child = crash("inner", 1.0, Process(2, "child"))
    main = crash("outer", 2.0, MAIN, "subprocess.CalledProcessError")
    other = crash("later", 2.0, MAIN, "ValueError")
    assert not is_cause(main, recording(child, main))
    assert is_cause(other, recording(child, other))


@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "SystemExit"])
def test_a_deliberate_end_is_no_fault(kind: str) -> None:
    one = crash("end", 1.0, MAIN, kind)
    assert not is_cause(one, recording(one))
    assert failed(recording(one)) == []


def test_a_worker_that_died_explains_what_the_loader_raises() -> None:
    death = Death(Process(77, "worker", worker=0), "signal", "SIGBUS")
    said = Crash("1", 1.0, MAIN, "RuntimeError", "DataLoader worker (pid 77) is killed by signal")
    other = Crash("2", 1.0, MAIN, "RuntimeError", "something else")
    assert not is_cause(said, recording(death, said))
    assert is_cause(other, recording(death, other))


def swallowed(times: int, entries: int, ran: tuple[str, ...] = ("module",)) -> Swallowed:
    handler = Place("s.py", 4, 5)
    tried = Place("s.py", 2, 3)
    return Swallowed(MAIN, handler, tried, None, "E", times, entries, ran, False, False, crash="c")


HANDLERS = "try:\n    y = model(x)\nexcept Exception:\n    {}\n"


@pytest.mark.parametrize(
    ("caught", "does", "cause"),
    [
        (swallowed(4, 4), "print(0)", True),
        (swallowed(1, 4), "print(0)", False),
        (swallowed(4, 4, ()), "print(0)", False),
        (swallowed(4, 4), "raise", False),
    ],
)
def test_a_swallowed_exception_counts_where_the_work_was_lost(
    caught: Swallowed, does: str, cause: bool
) -> None:
    from dataclasses import replace

    one = crash("c", 1.0, MAIN, swallowed=True)
    script = Script("s.py", HANDLERS.format(does), main=True)
    seen = recording(script, one, replace(caught, handler=Place("s.py", 3, 4)))
    assert caught_by(one, seen) is not None
    assert is_cause(one, seen) is cause


def test_a_script_that_was_only_read() -> None:
    script = Script("s.py", "")
    assert was_only_read(recording(script))
    assert not was_only_read(recording(script, Ended(("python",), "s.py", 0, 1.0)))
