"""Gradients that must stay: what lacks one, what never had one, and losses that become one."""

from dataclasses import replace

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.observations import ParameterSeen, Process, Steps
from surefit.doctor.recording import Recording

WEIGHT = ParameterSeen("weight", (2, 2), "float32", None, 1, held_by=9, looked=3)
BIAS = replace(WEIGHT, name="bias", serial=2)


def seen(*parameters: ParameterSeen, losses: tuple[tuple[int, float], ...] = ()) -> Recording:
    steps = Steps(Process(1), 3, 1.0, 3, {}, losses, backwards=3, parameters=parameters)
    return Recording([steps])


def test_all_that_had_a_gradient_must_have_one() -> None:
    before = seen(WEIGHT, BIAS)
    assert GradientsStay().judge(before, seen(WEIGHT, BIAS)).held
    judged = GradientsStay().judge(before, seen(WEIGHT, replace(BIAS, absent=1)))
    assert (judged.held, judged.said) == (False, "`bias` has no gradient at some step")
    assert not GradientsStay().judge(before, seen(WEIGHT)).held


def test_what_never_had_one_is_not_asked_for() -> None:
    without = replace(BIAS, absent=3)
    assert GradientsStay().judge(seen(WEIGHT, without), seen(WEIGHT, without)).held
    assert not GradientsStay().judge(seen(), seen(WEIGHT, without)).held
    assert GradientsStay(excused=("bias",)).judge(seen(), seen(WEIGHT, without)).held


def test_zeros_alone_are_no_gradient() -> None:
    zero = replace(WEIGHT, zero=3)
    assert not GradientsStay().judge(seen(WEIGHT), seen(zero)).held
    assert not GradientsStay().judge(seen(), seen(zero)).held


def test_nothing_seen_decides_nothing() -> None:
    assert not GradientsStay().judge(seen(WEIGHT), seen()).decided


def test_losses_that_become_one_are_their_sum() -> None:
    before = seen(WEIGHT, losses=((0, 1.0), (0, 0.5), (1, 9.0)))
    summed = GradientsStay(changes_the_past=True, together=2)
    assert summed.judge(before, seen(WEIGHT, losses=((0, 1.5),))).held
    assert not summed.judge(before, seen(WEIGHT, losses=((0, 1.0),))).held


def test_a_run_that_failed_before_any_backward_has_no_loss_to_compare() -> None:
    moved = GradientsStay(changes_the_past=True, together=1)
    judged = moved.judge(seen(), seen(WEIGHT, losses=((0, 1.5),)))
    assert judged.held
    assert "loss" not in judged.said
