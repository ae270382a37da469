"""Classes in the last axis of predictions, on hand-made recordings."""

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.rules.loss.class_axis_last import RULE

LOOP = """
    for words, tags in batches():
        loss = criterion(model(words), tags)
    """


def crash(given: tuple[int, ...], target: tuple[int, ...], greatest: float = 4.0) -> LossCrash:
    one = LossCrash(LOOP, tensor("out", given), tensor("tags", target, "int64"))
    return one.holds({0.0: 20, greatest: 12})


@pytest.mark.parametrize(
    ("given", "target", "text", "shape"),
    [
        ((4, 9, 5), (4, 9), ".transpose(1, 2)", (4, 5, 9)),
        ((9, 4, 5), (4, 9), ".permute(1, 2, 0)", (4, 5, 9)),
        ((4, 9, 7, 5), (4, 9, 7), ".movedim(-1, 1)", (4, 5, 9, 7)),
    ],
)
def test_the_classes_are_moved(
    given: tuple[int, ...], target: tuple[int, ...], text: str, shape: tuple[int, ...]
) -> None:
    one = crash(given, target)
    (finding,) = one.found(RULE)
    assert f"criterion(model(words){text}, tags)" in one.mended(finding)
    must = finding.fixes[0].must
    assert isinstance(must, LossGets)
    assert (must.shape, must.target_shape, must.supervised) == (shape, target, 32)


@pytest.mark.parametrize(
    "one",
    [
        crash((8, 8, 28), (8, 30)),
        crash((4, 5, 9), (4, 9)),
        crash((4, 9, 5), (4, 9), 6.0),
        crash((4, 9, 5), (36,)),
    ],
    ids=["places missing", "right", "no class 6", "flat"],
)
def test_silence(one: LossCrash) -> None:
    assert one.found(RULE) == []
