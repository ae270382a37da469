"""Predictions and targets that differ by an axis of size 1: raised, and broadcast in silence."""

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import LossCall, Process, Script, Steps
from surefit.doctor.recording import Recording
from surefit.rules.loss.size_of_predictions import RULE
from surefit.source.edits import patched

LOOP = """
    for x, y in batches():
        loss = criterion(model(x), y)
    """
QUIET = "criterion = nn.MSELoss()\nloss = criterion(model(x), y)\n"


def crash(given: tuple[int, ...], target: tuple[int, ...]) -> LossCrash:
    one = LossCrash(
        LOOP,
        tensor("out", given),
        tensor("y", target),
        function="binary_cross_entropy_with_logits",
    )
    return one.holds({0.0: 3, 1.0: 5})


@pytest.mark.parametrize(
    ("given", "target", "wanted"),
    [
        ((8, 1), (8,), "criterion(model(x).squeeze(-1), y)"),
        ((8,), (8, 1), "criterion(model(x), y.squeeze(-1))"),
        ((8, 1, 4, 4), (8, 4, 4), "criterion(model(x).squeeze(1), y)"),
    ],
)
def test_the_axis_is_taken_away(
    given: tuple[int, ...], target: tuple[int, ...], wanted: str
) -> None:
    one = crash(given, target)
    (finding,) = one.found(RULE)
    assert wanted in one.mended(finding)


@pytest.mark.parametrize(("given", "target"), [((8, 2), (8,)), ((8,), (8,)), ((8, 1), (4,))])
def test_silence(given: tuple[int, ...], target: tuple[int, ...]) -> None:
    assert crash(given, target).found(RULE) == []


def quiet(given: tuple[int, ...], target: tuple[int, ...], training: bool = True) -> list[Finding]:
    call = LossCall(
        "mse_loss", Place("train.py", 2), 12, 12, 96, 96, given, target, training=training
    )
    steps = Steps(Process(1), 12, 1.0, 12, {}, (), loss_calls=(call,))
    return list(RULE.look(Recording([Script("train.py", QUIET), steps])))


def test_every_pair_is_compared_in_silence() -> None:
    (finding,) = quiet((8, 1), (8,))
    assert finding.facts[0].value == "8 × 8 = 64 pairs, instead of 8 pairs"
    edit = finding.fixes[0].edit
    assert edit is not None
    assert "criterion(model(x).squeeze(-1), y)" in patched(edit, QUIET)


@pytest.mark.parametrize(("given", "target"), [((8,), (8,)), ((1, 1), (1,)), ((8, 3), (8, 1))])
def test_silence_where_nothing_is_multiplied(
    given: tuple[int, ...], target: tuple[int, ...]
) -> None:
    assert quiet(given, target) == []
    assert quiet((8, 1), (8,), training=False) == []
