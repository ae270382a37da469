"""Rows of zeros and ones for class indices: argmax only where each row has a single one."""

from typing import Any

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.rules.loss.one_hot_labels import RULE

ROWS = """
    import torch.nn.functional as F
    marks = F.one_hot(kinds, 4)
    for batch in loader(marks):
        loss = criterion(model(batch["x"]), batch["y"])
    """
FLAT = """
    for x, y in batches():
        loss = criterion(model(x).view(-1, 4), y.view(-1))
    """
SINGLE = {
    "rows": 8,
    "indicator": True,
    "fewest_ones": 1,
    "most_ones": 1,
    "single": 8,
    "places": 13.0,
}


def crash(text: str = ROWS, target: tuple[int, ...] = (8, 4), **more: Any) -> LossCrash:
    flat = len(target) == 1
    batch = tensor("y", (8, 4), "int64")
    made = LossCrash(
        text,
        tensor("out", (8, 4)),
        tensor("flat" if flat else 'batch["y"]', target, "int64"),
        values=(batch,) if flat else (),
    )
    about = {"rows_of": 4} if flat else {"axis": 1}
    return made.holds({0.0: 24, 1.0: 8}, **about, **{**SINGLE, **more})


def test_class_indices_are_given_as_they_are() -> None:
    broken = crash().through(("F.one_hot(kinds, 4)", tensor("marks", (80, 4), "int64")))
    (finding,) = broken.found(RULE)
    assert finding.place.line == 2
    assert "is one-hot, (8, 4)" in finding.headline
    assert "marks = kinds\n" in broken.mended(finding)
    assert "F.one_hot(kinds, 4).argmax(-1)\n" in broken.mended(finding, 1)
    must = finding.fixes[0].must
    assert isinstance(must, LossGets)
    assert (must.target_shape, must.supervised, must.total) == ((8,), 8, 13.0)


def test_before_they_are_flattened() -> None:
    broken = crash(FLAT, (32,))
    (finding,) = broken.found(RULE)
    assert "is one-hot, (8, 4)" in finding.headline
    assert "y.argmax(-1).view(-1))" in broken.mended(finding)


@pytest.mark.parametrize(
    "more", [{"single": 5, "most_ones": 3}, {"stored": 90, "stored_single": 70}]
)
def test_several_classes_are_the_users_choice(more: dict[str, Any]) -> None:
    (finding,) = crash(**more).found(RULE)
    assert "multi-label" in finding.headline
    assert [(fix.edit, fix.choice) for fix in finding.fixes] == [(None, True)]


@pytest.mark.parametrize(
    "broken",
    [
        crash(indicator=False),
        crash(FLAT, (24,)),
        LossCrash(FLAT, tensor("out", (32, 4)), tensor("y", (8,), "int64")),
        LossCrash(FLAT, tensor("out", (8, 4)), tensor("y", (8, 4), "float32")),
    ],
    ids=["counts", "another number", "rows folded", "probabilities"],
)
def test_silence(broken: LossCrash) -> None:
    assert broken.found(RULE) == []
