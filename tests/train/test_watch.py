"""A dead run is ended with its reason, and no run that only looks so."""

import math

import pytest

from surefit.doctor.findings import Finding, Place
from surefit.errors import BadInput
from surefit.train.watch import MOST_SKIPPED, SAME_STEPS, Part, Watch

VOCABULARY = 50257
UNIFORM = math.log(VOCABULARY)


class Run:
    """Steps of a student, told to a watch."""

    def __init__(self, *, same: bool = False, alpha: float = 0.5) -> None:
        self.watch = Watch(VOCABULARY, Place("runs/distill-1"), same)
        self.alpha = alpha
        self.step = 0

    def takes(
        self, entropy: float = 3.0, apart: float = 2.0, norm: float = 1.0, *, skipped: bool = False
    ) -> None:
        self.step += 1
        self.watch.see(
            self.step,
            loss=(1 - self.alpha) * entropy + self.alpha * apart,
            norm=norm,
            cross_entropy=Part(entropy, 1 - self.alpha),
            divergence=Part(apart, self.alpha),
            skipped=skipped,
        )

    def dies(
        self, entropy: float = 3.0, apart: float = 2.0, norm: float = 1.0, *, skipped: bool = False
    ) -> Finding:
        with pytest.raises(BadInput) as caught:
            self.takes(entropy, apart, norm, skipped=skipped)
        (found,) = caught.value.findings
        assert found.place == Place("runs/distill-1")
        return found


def test_gradients_of_exactly_zero_end_it_at_once() -> None:
    run = Run()
    run.takes()
    found = run.dies(norm=0.0)
    assert found.rule == "gradients-all-zero"
    assert found.headline.startswith("All gradients have been exactly zero since step 2:")


def test_the_step_since_which_gradients_are_zero() -> None:
    run = Run()
    run.takes()
    run.takes(1e-6, 1e-6, norm=0.0)
    run.takes(1e-6, 1e-6, norm=0.0)
    assert "since step 2: the run stopped after step 4" in run.dies(norm=0.0).headline


def test_a_batch_known_by_heart_has_no_gradient_and_that_is_right() -> None:
    run = Run()
    for _ in range(5):
        run.takes(entropy=0.0, apart=0.0, norm=0.0)
        run.takes()


def test_a_converged_student() -> None:
    run = Run(alpha=1.0)
    for _ in range(100):
        run.takes(entropy=2.0, apart=1e-7, norm=1e-6)
        run.takes(entropy=2.0, apart=-1e-9, norm=1e-10)


def test_a_uniform_student_that_nothing_moves() -> None:
    run = Run()
    run.takes(UNIFORM * 1.00005, norm=1e-9)
    run.takes(UNIFORM, norm=5e-9)
    found = run.dies(UNIFORM, norm=1e-9)
    assert found.rule == "loss-stays-uniform"
    assert "has been 10.8249 = ln(50257) for 3 steps" in found.headline
    assert "1.0e-09" in found.headline


def test_an_untrained_student_is_uniform_and_moves() -> None:
    run = Run()
    for _ in range(10):
        run.takes(UNIFORM, norm=1e-3)
    run.takes(UNIFORM, norm=1e-9)
    run.takes(UNIFORM, norm=1e-9)
    run.takes(UNIFORM * 0.9, norm=1e-9)
    run.takes(UNIFORM, norm=1e-9)


def test_a_teacher_that_is_not_heard() -> None:
    run = Run(alpha=0.3)
    found = run.dies(apart=0.0)
    assert found.rule == "teacher-not-heard"
    assert "exactly 0, at step 1; its weight in the loss is 0.3" in found.headline


def test_without_a_weight_the_teacher_need_not_be_heard() -> None:
    run = Run(alpha=0.0)
    for _ in range(30):
        run.takes(apart=0.0)


def test_a_student_that_begins_as_its_teacher() -> None:
    run = Run(same=True)
    for _ in range(SAME_STEPS - 1):
        run.takes(apart=0.0)
    run.takes(apart=1e-9)
    for _ in range(SAME_STEPS - 1):
        run.takes(apart=0.0)
    assert f"exactly 0 for {SAME_STEPS} steps" in run.dies(apart=0.0).headline


def test_a_student_that_is_its_teacher_and_hears_nothing_else() -> None:
    found = Run(same=True, alpha=1.0).dies(apart=0.0, norm=0.0)
    assert found.rule == "teacher-not-heard"
    assert "equals the teacher's to the last bit" in found.headline


def test_steps_skipped_at_the_start_are_usual() -> None:
    run = Run()
    for _ in range(MOST_SKIPPED - 1):
        run.takes(norm=math.inf, skipped=True)
    run.takes()
    run.takes(norm=math.nan, skipped=True)


def test_a_scaler_that_skips_every_step() -> None:
    run = Run()
    for _ in range(MOST_SKIPPED - 1):
        run.takes(norm=math.nan, skipped=True)
    found = run.dies(norm=math.nan, skipped=True)
    assert found.rule == "every-step-skipped"
    assert "skipped 40 steps in a row, up to step 40" in found.headline
    assert found.facts[1].value == "halved 40 times, to 9e-13 of its initial value"


def test_a_loss_that_is_not_finite_is_the_recipes_to_tell() -> None:
    run = Run()
    run.takes(entropy=math.nan, norm=0.0)
    run.takes(entropy=math.inf, norm=math.nan)


def test_any_recipe_can_be_watched() -> None:
    watch = Watch(VOCABULARY, Place("runs/sft-1"))
    watch.see(1, loss=2.0, norm=0.5, cross_entropy=Part(2.0, 1.0))
    with pytest.raises(BadInput, match="exactly zero"):
        watch.see(2, loss=2.0, norm=0.0, cross_entropy=Part(2.0, 1.0))
