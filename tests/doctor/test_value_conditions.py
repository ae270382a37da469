"""Values at a line of the patched run."""

from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Place
from surefit.doctor.observations import Passed, Process, Value
from surefit.doctor.recording import Recording

CONDITION = ValuesAt(Place("train.py", 3), (Wanted("x", (8, 12)),), at=20)


def passed(step: int, *shape: int) -> Passed:
    return Passed(Process(1), CONDITION.watchpoint, step, (Value("x", "Tensor", shape=shape),))


def judged(*came: Passed) -> tuple[bool, str]:
    judgement = CONDITION.judge(Recording([]), Recording(list(came)))
    return judgement.held, judgement.said


def test_whole_batches_of_an_evaluation_come_before_that_of_the_fault() -> None:
    held, said = judged(passed(20, 20, 12), passed(20, 20, 12), passed(20, 8, 12))
    assert held
    assert said == "`x` is (8, 12) at train.py:3, one of 3 times"


def test_that_of_the_fault_must_come_before_the_next_step() -> None:
    held, said = judged(passed(20, 20, 12), passed(21, 8, 12))
    assert not held
    assert said == "`x` has the shape (20, 12)"


def test_all_of_them_have_as_many_axes() -> None:
    assert judged(passed(20, 8, 12), passed(21, 8, 12))[1].endswith("each of 2 times")
    assert not judged(passed(20, 8, 12), passed(21, 8))[0]
