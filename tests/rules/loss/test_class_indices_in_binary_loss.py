"""Class indices in a binary cross entropy, on hand-made recordings."""

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.findings import Place
from surefit.doctor.observations import Layer, Value
from surefit.rules.loss.class_indices_in_binary_loss import RULE

LOOP = """
    from torch import nn
    criterion = nn.BCEWithLogitsLoss()
    for x, y in batches():
        loss = criterion(model(x), y)
    """
MADE = Value("criterion", "Loss", 9, layer=Layer("Loss", made_at=Place("train.py", 2)))


def crash(
    values: dict[float, int], dtype: str = "int64", outputs: int = 4, rows: int = 8
) -> LossCrash:
    one = LossCrash(
        LOOP,
        tensor("out", (rows, outputs)),
        tensor("y", (rows,), dtype),
        function="binary_cross_entropy_with_logits",
        values=(MADE,),
    )
    return one.holds(values)


def test_the_loss_for_classes_takes_its_place() -> None:
    one = crash({0.0: 3, 1.0: 3, 3.0: 2})
    (finding,) = one.found(RULE)
    assert finding.place.line == 2
    mended = one.mended(finding)
    assert "criterion = nn.CrossEntropyLoss()" in mended
    assert "criterion(model(x), y)" in mended


def test_floats_are_made_indices_again() -> None:
    one = crash({0.0: 5, 1.0: 3}, "float32", 2)
    (finding,) = one.found(RULE)
    assert "criterion(model(x), y.long())" in one.mended(finding)


@pytest.mark.parametrize(
    "one",
    [
        crash({0.0: 5, 1.0: 3}),
        crash({0.0: 3, 1.0: 3, 9.0: 2}),
        crash({0.25: 3, 1.0: 3, 3.0: 2}, "float32"),
        crash({0.0: 3, 1.0: 3, 3.0: 2}, rows=4),
    ],
    ids=["one column of many", "no class 9", "measurements", "square"],
)
def test_silence(one: LossCrash) -> None:
    assert one.found(RULE) == []
