"""Rows of zeros and ones for class indices: argmax only where each row has a single one."""

from typing import Any

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.rules.loss.one_hot_labels import RULE

ROWS = """
    class Rows(Dataset):
        def __getitem__(self, row):
            return {"x": self.x[row], "y": torch.tensor(self.marks[row])}
    for batch in loader:
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
    one = LossCrash(
        text,
        tensor("out", (8, 4)),
        tensor("flat" if flat else 'batch["y"]', target, "int64"),
        values=(batch,) if flat else (),
    )
    about = {"rows_of": 4} if flat else {"axis": 1}
    return one.holds({0.0: 24, 1.0: 8}, **about, **{**SINGLE, **more})


def test_the_row_gives_its_class() -> None:
    one = crash()
    (finding,) = one.found(RULE)
    assert finding.place.line == 3
    assert "is one-hot, (8, 4)" in finding.headline
    assert "torch.tensor(self.marks[row]).argmax(-1)}" in one.mended(finding)
    must = finding.fixes[0].must
    assert isinstance(must, LossGets)
    assert (must.target_shape, must.supervised, must.total) == ((8,), 8, 13.0)


def test_before_they_are_flattened() -> None:
    one = crash(FLAT, (32,))
    (finding,) = one.found(RULE)
    assert "`y` is one-hot, (8, 4)" in finding.headline
    assert "y.argmax(-1).view(-1))" in one.mended(finding)


@pytest.mark.parametrize(
    "more", [{"single": 5, "most_ones": 3}, {"stored": 90, "stored_single": 70}]
)
def test_several_classes_are_the_users_choice(more: dict[str, Any]) -> None:
    (finding,) = crash(**more).found(RULE)
    assert "multi-label" in finding.headline
    assert [fix.edit for fix in finding.fixes] == [None, None]
    assert all(fix.why_not_tried for fix in finding.fixes)


@pytest.mark.parametrize(
    "one",
    [
        crash(indicator=False),
        crash(FLAT, (24,)),
        LossCrash(FLAT, tensor("out", (32, 4)), tensor("y", (8,), "int64")),
        LossCrash(FLAT, tensor("out", (8, 4)), tensor("y", (8, 4), "float32")),
    ],
    ids=["counts", "another number", "rows folded", "probabilities"],
)
def test_silence(one: LossCrash) -> None:
    assert one.found(RULE) == []
