"""A loss is decoded only where the numbers of its own story lead from the cost to it."""

import math
from typing import Any

import pytest

from surefit.doctor.observations import Operation
from surefit.laws.losses.loss_stories import LossStory
from surefit.rules.loss import saturated_logits
from surefit.rules.loss.saturated_logits import UniformGuess, is_uniform


def made(serial: int, name: str, **more: Any) -> Operation:
    more = {"shape": (), "dtype": "float32", "grad": True, **more}
    return Operation(serial, name, None, None, own=True, contiguous=True, **more)


def story(*operations: Operation) -> LossStory:
    return LossStory(operations, 2, 0)


def uniform_guess(told: LossStory, loss: float | None = None) -> UniformGuess | None:
    first = told.operations[0].result
    assert first is not None
    return saturated_logits.uniform_guess(told, first if loss is None else loss)


LOGITS = made(1, "linear", shape=(6, 40))
COST = math.log(40)


def test_the_loss_itself_is_the_cost() -> None:
    entropy = made(2, "cross_entropy", takes=(1,), result=COST)
    assert uniform_guess(story(entropy, LOGITS)) == UniformGuess(COST, 40, COST, "float32", ())


def test_several_weights_are_multiplied() -> None:
    scale = made(3, "given", result=1024.0, grad=False)
    entropy = made(2, "cross_entropy", takes=(1,), result=COST)
    share = made(4, "mul", takes=(2,), numbers=(0.7,), result=0.7 * COST)
    part = made(5, "div", takes=(4,), numbers=(8,), result=0.7 * COST / 8)
    scaled = made(6, "mul", takes=(5, 3), result=1024 * 0.7 * COST / 8)
    guess = uniform_guess(story(scaled, part, share, scale, entropy, LOGITS))
    assert guess is not None
    assert sorted(guess.weights) == [0.125, 0.7, 1024.0]
    shown = uniform_guess(story(scaled, part, share, scale, entropy, LOGITS), 0.7 * COST / 8)
    assert shown is not None
    assert sorted(shown.weights) == [0.125, 0.7]


def test_a_mean_of_many_costs_is_found_behind_them() -> None:
    each = made(2, "cross_entropy", shape=(6,), dtype="float16", takes=(1,))
    wide = made(3, "float", shape=(6,), takes=(2,))
    mean = made(4, "mean", takes=(3,), result=3.689453125)
    guess = uniform_guess(story(mean, wide, each, LOGITS))
    assert guess is not None
    assert (guess.cost, guess.dtype, guess.weights) == (3.689453125, "float16", ())


def test_nothing_is_said_of_a_loss_that_is_not_uniform() -> None:
    entropy = made(2, "cross_entropy", takes=(1,), result=COST - 0.01)
    assert uniform_guess(story(entropy, LOGITS)) is None


def test_nothing_is_said_where_no_weight_of_the_story_leads_to_the_loss() -> None:
    entropy = made(2, "cross_entropy", takes=(1,), result=COST)
    other = made(3, "mean", grad=False, result=1.0)
    summed = made(4, "add", takes=(2, 3), result=COST + 1.0)
    assert uniform_guess(story(summed, other, entropy, LOGITS)) is None


@pytest.mark.parametrize(
    ("cost", "dtype", "expected"),
    [
        (10.828125, "float16", True),
        (10.8203125, "float16", True),
        (10.84375, "float16", False),
        (10.8125, "bfloat16", True),
        (10.828125, "float32", False),
        (10.824905, "float32", True),
    ],
)
def test_the_type_decides_how_near_is_equal(cost: float, dtype: str, expected: bool) -> None:
    assert is_uniform(cost, 50257, dtype) is expected
