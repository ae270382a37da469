"""Conditions that count: rows of a table, rows of an epoch, parameters of an optimizer."""

from dataclasses import replace

import pytest

from surefit.doctor.conditions.batches import WholeBatches
from surefit.doctor.conditions.grown import RowsAdded
from surefit.doctor.conditions.names import NamesExist
from surefit.doctor.conditions.optimizers import OptimizerSteps
from surefit.doctor.conditions.rows import RowsArrive
from surefit.doctor.findings import Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Ended,
    OptimizerSeen,
    Passed,
    Process,
    Question,
    RootSeen,
    Steps,
    Value,
    Watchpoint,
)
from surefit.doctor.recording import Recording

LINE = Place("train.py", 9)
NONE = Recording([])


def passed(watched: Watchpoint | None, step: int, *values: Value) -> Passed:
    assert watched is not None
    return Passed(Process(1), watched, step, values)


def crashed(steps: int, seconds: float = 2.0) -> Recording:
    crash = Crash("1-1", 1.0, Process(1), "TypeError", "TypeError: None", steps=steps)
    return Recording([crash, Ended((), "train.py", 1, seconds)])


def test_a_table_has_the_rows_that_were_added() -> None:
    added = RowsAdded(LINE, "log", 4, 2)
    rows = [Value("log", "DataFrame", length=length) for length in (6, 8)]
    judged = added.judge(NONE, Recording([passed(added.watchpoint, 0, one) for one in rows]))
    assert (judged.held, judged.said) == (
        True,
        "`log` had 4 rows and has 6 behind train.py:9, 2 times seen",
    )
    judged = added.judge(NONE, Recording([passed(added.watchpoint, 0, rows[1])]))
    assert (judged.held, judged.decided) == (False, True)
    assert not added.judge(NONE, NONE).decided


def arrived(condition: RowsArrive, *rows: int) -> Recording:
    batches = [Value("x", "Tensor", shape=(size, 3)) for size in rows]
    seen = [passed(condition.watchpoint, step, one) for step, one in enumerate(batches)]
    return Recording([*seen])


def test_rows_that_an_epoch_loses_are_counted_where_all_of_it_was_seen() -> None:
    arrive = RowsArrive(rows=6, place=LINE, names=("x",), epoch=(40, 5))
    judged = arrive.judge(crashed(1), arrived(arrive, 8, 6, 8, 7, 8))
    assert judged.held
    assert judged.said.endswith("; 37 of the 40 rows arrive in an epoch, 3 are lost")
    judged = arrive.judge(crashed(1), arrived(arrive, 8, 6, 8))
    assert judged.held
    assert "epoch" not in judged.said


@pytest.mark.parametrize(
    ("steps", "batches", "seconds", "wanted"),
    [(1, 5, 2.0, 5), (1, 500, 2.0, None), (1, 50, 60.0, None), (9, 5, 2.0, None)],
)
def test_an_epoch_is_gone_through_only_if_that_is_cheap(
    steps: int, batches: int, seconds: float, wanted: int | None
) -> None:
    arrive = RowsArrive(rows=6, place=LINE, names=("x",), epoch=(40, batches))
    assert arrive.needs(crashed(steps, seconds)).steps == wanted
    assert replace(arrive, epoch=None).needs(crashed(steps)).steps is None


def test_batches_of_an_evaluation_are_told_from_those_of_training() -> None:
    whole = WholeBatches(place=LINE, text="x", mode="net.training", rows=8, training=False)

    def came(rows: int, training: bool) -> Passed:
        mode = Value("net.training", "bool", scalar=training)
        return passed(whole.watchpoint, 1, Value("x", "Tensor", shape=(rows, 3)), mode)

    judged = whole.judge(crashed(1), Recording([came(3, True), came(8, False)]))
    assert (judged.held, judged.said.endswith("train.py:9 in evaluation")) == (True, True)
    assert not whole.judge(crashed(1), Recording([came(8, True)])).decided
    assert not whole.judge(crashed(1), Recording([came(8, True), came(3, False)])).held


def steps(optimizer: OptimizerSeen) -> Recording:
    roots = (RootSeen("Net", None, 1, 100, tensors=4, held=4),)
    return Recording([Steps(Process(1), 2, 0.1, 2, {}, (), optimizers=(optimizer,), roots=roots)])


def test_an_optimizer_holds_parameters_and_steps_with_their_gradients() -> None:
    seen = OptimizerSeen("AdamW", None, 5, 4, 2, 1e-3, 1e-3, without_gradient=0, looked=2)
    judged = OptimizerSteps("AdamW").judge(NONE, steps(seen))
    assert judged.said == "`AdamW` holds 4 of the model's 4 parameters, with gradients at 2 steps"
    assert judged.held
    idle = OptimizerSteps("AdamW").judge(NONE, steps(replace(seen, without_gradient=2)))
    assert (idle.held, idle.decided) == (False, True)
    assert not OptimizerSteps("SGD").judge(NONE, steps(seen)).decided


def test_what_a_statement_makes_with_a_new_name_is_told() -> None:
    question = Question("names", "1-1")
    exist = NamesExist(question, ("float",), LINE, ("x",))
    before = Recording([Answer(question, {"exist": ["float"], "near": {}})])
    made = Value("x", "ndarray", shape=(30, 3), dtype="float64")
    judged = exist.judge(before, Recording([passed(exist.watchpoint, 0, made)]))
    assert judged.said == (
        "`float` is installed, and train.py:9 comes to its end; `x` is float64 (30, 3)"
    )
