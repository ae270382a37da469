"""Each condition on recordings made by hand: what satisfies it, and what only looks like it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.doctor.conditions.condition import All, Condition, Needs
from surefit.doctor.conditions.evaluation import EvaluationRuns
from surefit.doctor.conditions.first_batches import FirstBatchComes
from surefit.doctor.conditions.labels import LabelsReachModel
from surefit.doctor.conditions.parameters import GradientsFlow, Moves, NoUpdatesLost
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.conditions.rows import RowsArrive
from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Place
from surefit.doctor.moved import moved_to
from surefit.doctor.observations import (
    Answer,
    Crash,
    Ended,
    LabelsSeen,
    Observation,
    OptimizerSeen,
    ParameterSeen,
    Process,
    Question,
    RootSeen,
    Script,
    Steps,
    Swallowed,
)
from surefit.doctor.recording import Recording

HANDLER = Place("train.py", 4, 5)
MAIN = Process(1)


def recording(*observations: Observation) -> Recording:
    return Recording(list(observations))


def steps(
    taken: int = 2,
    *,
    parameters: tuple[ParameterSeen, ...] = (),
    labels: tuple[LabelsSeen, ...] = (),
    cycles: dict[str, int] | None = None,
    evaluating: int = 0,
    process: Process = MAIN,
) -> Steps:
    return Steps(
        process,
        taken,
        1.0,
        taken,
        cycles or {},
        (),
        backwards=taken,
        parameters=parameters,
        labels=labels,
        roots=(RootSeen("Net", None, 1, 10, taken, evaluating),),
    )


def crash(taken: int = 0, identity: str = "1", process: Process = MAIN, **more: str) -> Crash:
    return Crash(identity, 10.0, process, "ValueError", "ValueError: no", steps=taken, **more)  # type: ignore[arg-type]


def call(step: int, rows: int, supervised: int) -> LabelsSeen:
    return LabelsSeen(step, (rows, 20), supervised, True)


def parameter(name: str = "head.weight", **more: int | None) -> ParameterSeen:
    plain = ParameterSeen(
        name, (4, 4), "float32", None, 3, held_by=9, looked=2, sampled=32, unchanged=0
    )
    return replace(plain, **more)  # type: ignore[arg-type]


def optimizer(serial: int, taken: int) -> OptimizerSeen:
    return OptimizerSeen("Adam", None, serial, 4, taken, 0.1, 0.1, 0, taken)


class TestTrainingGoesOn:
    """Past the fault, or to the end where the fault came after the last step."""

    def test_a_fault_after_the_last_step(self) -> None:
        before, ended = recording(steps(8), crash(8)), Ended(("train.py",), None, 0, 1.0)
        judged = TrainingGoesOn().judge(before, recording(steps(8), ended))
        assert judged.held
        assert judged.said == "it runs to its end after step 8"
        stopped = TrainingGoesOn().judge(before, recording(steps(8), replace(ended, code=1)))
        assert not stopped.held
        assert not stopped.decided


class TestLabelsReachModel:
    """As many labels as the rows hold."""

    must = LabelsReachModel(119, 8)

    def test_the_batch_of_the_fault_counts(self) -> None:
        after = recording(steps(4, labels=(call(0, 8, 90), call(1, 8, 90), call(2, 8, 119))))
        judged = self.must.judge(recording(crash(2)), after)
        assert judged.held
        assert judged.said == "119 labels of 8 rows reach the model, all that there are"

    def test_padding_that_is_trained_on_is_too_much(self) -> None:
        after = recording(steps(labels=(call(0, 8, 160),)))
        judged = self.must.judge(recording(crash(0)), after)
        assert not judged.held
        assert judged.said == "160 labels of 8 rows reach the model, and 8 rows hold 119 labels"

    def test_as_many_labels_of_fewer_rows_are_other_labels(self) -> None:
        judged = self.must.judge(
            recording(crash(0)), recording(steps(labels=(call(0, 7, 119), call(1, 8, 119))))
        )
        assert not judged.held
        assert judged.said == "119 labels of 7 rows reach the model, and 8 rows hold 119 labels"

    def test_no_labels(self) -> None:
        judged = self.must.judge(
            recording(crash(3)), recording(steps(5, labels=(call(0, 8, 119),)))
        )
        assert (judged.held, judged.said) == (False, "no labels reached the model after step 3")
        assert judged.decided

    def test_a_model_that_is_never_given_labels_decides_nothing(self) -> None:
        """The script hands them to the loss itself."""
        assert not self.must.judge(recording(crash(0)), recording(steps())).decided

    def test_batches_of_the_same_step_before_the_fault_do_not_count(self) -> None:
        """Two batches make a step: the first of them had 119 labels anyway."""
        before = recording(steps(0, labels=(call(0, 8, 119), call(0, 8, 100))), crash(0))
        padded = recording(
            steps(2, labels=(call(0, 8, 119), call(0, 8, 100), call(0, 8, 160), call(0, 8, 150)))
        )
        assert not self.must.judge(before, padded).held
        right = recording(steps(2, labels=(call(0, 8, 119), call(0, 8, 100), call(0, 8, 119))))
        assert self.must.judge(before, right).held

    def test_the_failing_call_itself_is_not_before_the_fault(self) -> None:
        """The model failed with these labels in hand, so that the first run saw them too."""
        before = recording(steps(0, labels=(call(0, 8, 119),)), crash(0))
        assert self.must.judge(before, recording(steps(labels=(call(0, 8, 119),)))).held

    def test_a_worker_fails_at_the_step_of_its_process(self) -> None:
        before = recording(
            crash(0, "worker", Process(2, "worker", worker=0)),
            crash(3, "main", raised_in="worker"),
        )
        after = recording(steps(5, labels=(call(0, 8, 119), call(3, 8, 118))))
        assert not self.must.judge(before, after).held

    def test_other_ranks_have_other_labels(self) -> None:
        before = recording(crash(0, process=Process(1, "rank", 1, 2)))
        zero = steps(labels=(call(0, 8, 119),), process=Process(4, "rank", 0, 2))
        one = steps(labels=(call(0, 8, 160),), process=Process(5, "rank", 1, 2))
        assert not self.must.judge(before, recording(zero, one)).held

    def test_the_last_count_of_a_process_stands(self) -> None:
        early = steps(1, labels=())
        late = steps(2, labels=(call(0, 8, 119),))
        assert self.must.judge(recording(crash(0)), recording(early, late)).held

    @given(rows=st.integers(1, 64), expected=st.integers(0, 5000), given_=st.integers(0, 5000))
    def test_holds_for_exactly_the_expected_number(
        self, rows: int, expected: int, given_: int
    ) -> None:
        after = recording(steps(labels=(call(0, rows, given_),)))
        judged = LabelsReachModel(expected, rows).judge(recording(crash(0)), after)
        assert judged.held == (expected == given_)


class TestMoves:
    """Held, and changed by the steps."""

    def test_held_and_moving(self) -> None:
        after = recording(steps(parameters=(parameter(), parameter("head.bias", unchanged=2))))
        judged = Moves(("head.weight", "head.bias")).judge(recording(), after)
        assert judged.held
        assert judged.said == (
            "an optimizer holds `head.weight` and `head.bias`: "
            "62 of 64 elements with a gradient moved"
        )

    def test_outside_every_optimizer(self) -> None:
        after = recording(steps(parameters=(parameter("body"), parameter(held_by=None))))
        judged = Moves(("head.weight",)).judge(recording(), after)
        assert (judged.held, judged.said) == (False, "no optimizer holds `head.weight`")

    def test_another_of_the_same_name_is_not_it(self) -> None:
        """The layer that was there before, in a first stage of training."""
        earlier = steps(parameters=(parameter(),))
        swapped = replace(earlier, outside=(parameter(held_by=None, serial=9),))
        assert not Moves(("head.weight",)).judge(recording(), recording(swapped)).held

    def test_without_a_gradient_nothing_moves(self) -> None:
        after = recording(steps(parameters=(parameter(sampled=0),)))
        judged = Moves(("head.weight",)).judge(recording(), after)
        assert not judged.held
        assert judged.said == ("`head.weight` stands still; 0 of 0 elements with a gradient moved")

    def test_one_that_stands_still_is_not_hidden_by_others(self) -> None:
        many = parameter("body.weight", sampled=100_000)
        still = parameter("head.weight", sampled=10, unchanged=10)
        judged = Moves(("body.weight", "head.weight")).judge(
            recording(), recording(steps(parameters=(many, still)))
        )
        assert not judged.held
        assert judged.said == (
            "`head.weight` stands still; 100,000 of 100,010 elements with a gradient moved"
        )

    def test_no_names_prove_nothing(self) -> None:
        assert not Moves(()).judge(recording(), recording(steps(parameters=(parameter(),)))).held

    def test_a_later_stage_wants_the_steps_of_the_earlier(self) -> None:
        """96 steps, then an optimizer, then the layer that it does not hold."""
        pretraining, late = optimizer(5, 96), optimizer(9, 104)
        outside = parameter(held_by=None, serial=12)
        before = replace(steps(200), optimizers=(pretraining, late), outside=(outside,))
        assert Moves(("head.weight",), steps=3).needs(recording(before)).steps == 99
        assert Moves(("head.weight",)).needs(recording(before)).steps == 106
        between = replace(before, outside=(replace(outside, serial=7),))
        assert Moves(("head.weight",), steps=3).needs(recording(between)).steps == 99
        alone = replace(before, optimizers=(late,))
        assert Moves(("head.weight",), steps=3).needs(recording(alone)).steps == 3
        assert Moves(("head.weight",)).needs(recording(alone)).steps is None
        assert Moves(("body",), steps=3).needs(recording(before)).steps == 3

    def test_many_names_are_counted(self) -> None:
        names = tuple(f"layer.{n}" for n in range(7))
        judged = Moves(names).judge(recording(), recording(steps(parameters=())))
        assert judged.said == "no optimizer holds `layer.0`, `layer.1`, `layer.2` and 4 more"

    @given(sampled=st.integers(1, 10_000), lost=st.integers(0, 10_000), share=st.floats(0, 1))
    def test_the_share_is_of_elements_with_a_gradient(
        self, sampled: int, lost: int, share: float
    ) -> None:
        lost = min(lost, sampled)
        after = recording(steps(parameters=(parameter(sampled=sampled, unchanged=lost),)))
        judged = Moves(("head.weight",), share).judge(recording(), after)
        assert judged.held == (sampled - lost >= share * sampled)


class TestGradientsFlow:
    """Zero before, and not after."""

    zero = recording(steps(parameters=(parameter(zero=2), parameter("b", absent=2))))

    def test_from_nothing_to_something(self) -> None:
        after = recording(steps(parameters=(parameter(), parameter("b", zero=1))))
        judged = GradientsFlow().judge(self.zero, after)
        assert judged.held
        assert judged.said == (
            "1 of 2 parameters have a gradient other than zero at each of 2 steps; before, none had"
        )

    def test_now_and_then_is_not_enough(self) -> None:
        after = recording(steps(parameters=(parameter(zero=1), parameter("b", absent=1))))
        assert not GradientsFlow().judge(self.zero, after).held

    def test_not_finite(self) -> None:
        after = recording(steps(parameters=(parameter(), parameter("b", not_finite=1))))
        judged = GradientsFlow().judge(self.zero, after)
        assert (judged.held, judged.said) == (False, "the gradient of `b` is not finite")

    def test_there_was_one_before(self) -> None:
        after = recording(steps(parameters=(parameter(),)))
        judged = GradientsFlow().judge(recording(steps(parameters=(parameter(zero=1),))), after)
        assert not judged.held
        assert judged.said == "`head.weight` had a gradient in the first run too"

    def test_nothing_was_looked_at(self) -> None:
        after = recording(steps(parameters=(parameter(looked=0),)))
        assert not GradientsFlow().judge(self.zero, after).held

    def test_of_some_parameters_only(self) -> None:
        before = recording(steps(parameters=(parameter(zero=2), parameter("other"))))
        after = recording(steps(parameters=(parameter(), parameter("other", not_finite=1))))
        assert GradientsFlow(("head.weight",)).judge(before, after).held


class TestNoUpdatesLost:
    """Little is lost."""

    def test_over_all_parameters(self) -> None:
        seen = (parameter(sampled=900, unchanged=9), parameter("b", sampled=100, unchanged=0))
        judged = NoUpdatesLost(0.01).judge(recording(), recording(steps(parameters=seen)))
        assert judged.held
        assert judged.said == (
            "9 of 1,000 updates are lost to rounding, 0.9%; less than 1.0% is wanted"
        )

    def test_nothing_seen_is_nothing_proved(self) -> None:
        judged = NoUpdatesLost(0.5).judge(recording(), recording(steps()))
        assert (judged.held, judged.said) == (
            False,
            "no element with a gradient was seen at a step",
        )

    @given(sampled=st.integers(1, 10_000), lost=st.integers(0, 10_000), share=st.floats(0, 1))
    def test_the_share_itself_is_too_much(self, sampled: int, lost: int, share: float) -> None:
        lost = min(lost, sampled)
        seen = recording(steps(parameters=(parameter(sampled=sampled, unchanged=lost),)))
        assert NoUpdatesLost(share).judge(recording(), seen).held == (lost < share * sampled)


BEFORE = """import x
try:
    labels.view(-1)
except RuntimeError:
    loss = 0
"""


def swallowed(line: int, file: str = "train.py") -> Swallowed:
    return Swallowed(
        Process(1),
        Place(file, line, line + 1),
        Place(file, line - 2, line - 1),
        Place(file, line - 1),
        "RuntimeError: view size",
        3,
        3,
        ("module",),
        False,
        False,
    )


class TestEvaluationRuns:
    """Nothing is caught, and there is evaluation."""

    must = EvaluationRuns(HANDLER, 12)

    def judged(self, text: str, *seen: Observation) -> tuple[bool, str]:
        before = recording(Script("train.py", BEFORE), swallowed(4))
        judged = self.must.judge(before, recording(Script("train.py", text), *seen))
        return judged.held, judged.said

    def test_it_runs(self) -> None:
        text = BEFORE.replace("view", "reshape")
        assert self.judged(text, steps(evaluating=4)) == (
            True,
            "nothing is caught at train.py:4, where evaluation was tried 12 times before; "
            "the model was called 4 times in evaluation",
        )

    def test_a_model_left_in_training_mode_is_evaluated_too(self) -> None:
        assert self.judged(BEFORE, steps(cycles={"tTBS": 2, "TBS": 7}))[0]

    def test_evaluation_that_is_skipped_is_not_mended(self) -> None:
        assert self.judged(BEFORE, steps()) == (False, "the model was not called in evaluation")

    def test_it_still_catches_on_another_line(self) -> None:
        text = "import y\n" + BEFORE.replace("view", "reshape")
        assert self.judged(text, steps(evaluating=4), swallowed(5)) == (
            False,
            "train.py:4 still catches, 3 times: RuntimeError: view size",
        )

    def test_the_line_itself_was_changed(self) -> None:
        text = BEFORE.replace("except RuntimeError:\n    loss = 0", "except ValueError:\n    raise")
        assert not self.judged(text, steps(evaluating=4), swallowed(4))[0]

    def test_other_handlers_go_on_catching(self) -> None:
        text = BEFORE + "\ntry:\n    import y\nexcept ImportError:\n    pass\n"
        assert self.judged(text, steps(evaluating=4), swallowed(9))[0]
        assert self.judged(text, steps(evaluating=4), swallowed(4, "other.py"))[0]


lines = st.lists(st.sampled_from(["a", "b", "c", "d", "pass"]), min_size=1, max_size=12)


@given(old=lines, more=lines, at=st.integers(0, 12), line=st.integers(1, 12))
def test_lines_that_a_patch_moves_are_found_again(
    old: list[str], more: list[str], at: int, line: int
) -> None:
    """Inserted lines move those behind them; the text at the new place is that of the old one."""
    line, at = min(line, len(old)), min(at, len(old))
    new = old[:at] + more + old[at:]
    before = recording(Script("x.py", "\n".join(old)))
    after = recording(Script("x.py", "\n".join(new)))
    found = moved_to(Place("x.py", line), before, after)
    assert len(found) == 1
    assert new[found[0] - 1] == old[line - 1]


QUESTION = Question("same-values", "1", {"expression": "labels.reshape(-1)"})
WHAT = "`labels.reshape(-1)` and `labels.contiguous().view(-1)`"


class TestReExecuted:
    """Equal values, as the answer says."""

    must = ReExecuted(QUESTION, WHAT)

    def test_equal(self) -> None:
        before = recording(Answer(QUESTION, {"equal": True, "elements": 1240}))
        judged = self.must.judge(before, recording())
        assert (judged.held, judged.said) == (True, f"{WHAT}: 1,240 elements, all equal")

    @pytest.mark.parametrize(
        "said", [{"equal": False, "elements": 3}, {"equal": True, "elements": 0}, {"equal": 1}, {}]
    )
    def test_not_equal(self, said: dict[str, int | bool]) -> None:
        judged = self.must.judge(recording(Answer(QUESTION, dict(said))), recording())
        assert not judged.held

    def test_not_answered(self) -> None:
        other = Answer(Question("same-values", "2"), {"equal": True, "elements": 3})
        judged = self.must.judge(recording(other), recording())
        assert judged.said == f"{WHAT}: not compared: the process had ended"
        unknown = recording(Answer(QUESTION, None, "the frame is gone"))
        assert self.must.judge(unknown, recording()).said == (
            f"{WHAT}: not compared: the frame is gone"
        )


class TestAll:
    """Several at once."""

    def test_every_one_must_hold(self) -> None:
        after = recording(steps(parameters=(parameter(),), labels=(call(0, 8, 119),)))
        both = All((LabelsReachModel(119, 8), Moves(("head.weight",))))
        judged = both.judge(recording(crash(0)), after)
        assert judged.held
        assert judged.said == (
            "119 labels of 8 rows reach the model, all that there are; an optimizer holds "
            "`head.weight`: 32 of 32 elements with a gradient moved"
        )

    def test_what_fails_is_said(self) -> None:
        after = recording(steps(parameters=(parameter(),), labels=(call(0, 8, 160),)))
        both = All((LabelsReachModel(119, 8), Moves(("head.weight",))))
        judged = both.judge(recording(crash(0)), after)
        assert not judged.held
        assert judged.said == "160 labels of 8 rows reach the model, and 8 rows hold 119 labels"

    def test_undecided_only_if_nothing_failed(self) -> None:
        undecided, failing = NoUpdatesLost(0.5), Moves(("gone",))
        after = recording(steps())
        assert not All((undecided,)).judge(recording(), after).decided
        judged = All((undecided, failing)).judge(recording(), after)
        assert (judged.decided, judged.said) == (True, "no optimizer holds `gone`")

    def test_none_at_all_prove_nothing(self) -> None:
        assert not All(()).judge(recording(), recording()).held

    def test_the_past_and_the_steps(self) -> None:
        plain: Condition = All((Moves(("a",), steps=7), NoUpdatesLost(0.1, steps=30)))
        assert plain.needs(recording()) == Needs(steps=30)
        changing: Condition = All((plain, RowsArrive(rows=1, place=None, changes_the_past=True)))
        assert changing.needs(recording()).changes_the_past
        assert All((ReExecuted(QUESTION, WHAT),)).needs(recording()).steps is None

    def test_what_is_watched_at_one_line_at_several_and_in_parts(self) -> None:
        here, there = Place("train.py", 3), Place("train.py", 9)
        arrives = RowsArrive(rows=4, place=here, names=("batch",))
        first = FirstBatchComes(here, ("batch",), 8)
        later = ValuesAt(there, (Wanted("frame", rows=2),))
        both = All((arrives, All((first, later))))
        lines = [one.place.line for one in both.needs(recording()).watchpoints]
        assert lines == [3, 9]
        assert RowsArrive(rows=4, place=None).needs(recording()).watchpoints == ()
        assert Moves(("a",)).needs(recording()).watchpoints == ()

    def test_evaluation_wants_to_get_past_the_first_time(self) -> None:
        caught = replace(swallowed(4), crash="7")
        before = recording(caught, replace(crash(40, "7"), swallowed=True))
        assert EvaluationRuns(HANDLER, 12).needs(before).steps == 42
        assert EvaluationRuns(HANDLER, 12).needs(recording(swallowed(4))).steps is None

    def test_answers_alone_decide_only_what_was_re_executed(self) -> None:
        again = ReExecuted(QUESTION, WHAT)
        assert again.needs(recording()).no_run
        assert All((again, again)).needs(recording()).no_run
        assert not All((again, Moves(("a",)))).needs(recording()).no_run
        assert not All(()).needs(recording()).no_run
