"""Predictions or labels that were not flattened, on hand-made recordings."""

import pytest

from recorded_losses import LossCrash, tensor
from surefit.rules.loss.flattened_on_one_side import RULE

LOOP = """
    for words, tags in batches():
        loss = criterion(model(words), tags)
    """


def crash(
    given: tuple[int, ...], target: tuple[int, ...], base: tuple[int, ...] | None = None
) -> LossCrash:
    one = LossCrash(LOOP, tensor("out", given, base_shape=base), tensor("tags", target, "int64"))
    return one.holds({0.0: 20, 4.0: 12})


def test_predictions_are_flattened_too() -> None:
    one = crash((4, 8, 5), (32,))
    (finding,) = one.found(RULE)
    assert "sees 4 rows instead of 4 × 8 = 32" in finding.headline
    assert "criterion(model(words).flatten(0, 1), tags)" in one.mended(finding)


def test_labels_are_flattened_too() -> None:
    one = crash((32, 5), (4, 8), (4, 8, 5))
    (finding,) = one.found(RULE)
    assert "criterion(model(words), tags.flatten())" in one.mended(finding)


@pytest.mark.parametrize(
    "one",
    [
        crash((128, 10), (32,)),
        crash((32, 5), (4, 8), (8, 4, 5)),
        crash((4, 9, 5), (32,)),
        crash((32, 3), (4, 8)),
        crash((32, 5), (32, 1)),
    ],
    ids=["rows folded", "axes swapped", "places missing", "no class 4", "one axis"],
)
def test_silence(one: LossCrash) -> None:
    assert one.found(RULE) == []
