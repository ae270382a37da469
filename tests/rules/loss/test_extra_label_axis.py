"""Labels with an axis too many, on hand-made recordings: where it is taken away, and silence."""

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Place
from surefit.rules.loss.extra_label_axis import RULE

ROWS = """
    class Rows(Dataset):
        def __getitem__(self, row):
            return self.x[row], self.y[row]
    for x, y in loader:
        loss = criterion(model(x), y)
    """
LOOP = """
    for x, y in batches():
        y = y.view(-1, 1)
        loss = criterion(model(x), y)
    """
LIST = ROWS.replace("self.y[row]", "torch.tensor([self.y[row]])")
TWO = """
    class Rows(Dataset):
        def __getitem__(self, row):
            return self.x[row], self.y[row]
    class Others(Dataset):
        def __getitem__(self, row):
            return read(row)
    for x, y in loader:
        loss = criterion(model(x), y)
    """


def crash(text: str, shape: tuple[int, ...] = (8, 1), given: tuple[int, ...] = (8, 3)) -> LossCrash:
    one = LossCrash(text, tensor("out", given), tensor("y", shape, "int64"))
    return one.holds({0.0: 3, 1.0: 3, 2.0: 2})


def test_it_is_taken_away_where_a_row_is_made() -> None:
    one = crash(ROWS)
    (finding,) = one.found(RULE)
    assert finding.place == Place("train.py", 3, 3)
    assert finding.headline == (
        "`y` is (8, 1), with an extra axis of size 1: `criterion` wants one class index per"
        " prediction, (8,)."
    )
    assert "self.x[row], self.y[row].squeeze(0)\n" in one.mended(finding)
    must = finding.fixes[0].must
    assert must == LossGets("cross_entropy", Place("train.py", 5), (8,), ("int64", "uint8"), 8, 7.0)


def test_what_makes_it_in_the_loop_goes() -> None:
    one = crash(LOOP)
    (finding,) = one.found(RULE)
    assert finding.place.line == 2
    assert "    y = y\n" in one.mended(finding)


def test_a_list_of_one_becomes_what_is_in_it() -> None:
    one = crash(LIST)
    (finding,) = one.found(RULE)
    assert "torch.tensor(self.y[row])" in one.mended(finding)


def test_at_the_loss_where_the_source_does_not_tell() -> None:
    one = crash(TWO)
    (finding,) = one.found(RULE)
    assert finding.place.line == 8
    assert "criterion(model(x), y.squeeze(1))" in one.mended(finding)


def test_a_channel_of_a_mask() -> None:
    (finding,) = crash(ROWS, (8, 1, 4, 4), (8, 3, 4, 4)).found(RULE)
    assert "`.squeeze(0)`" in finding.fixes[0].text


@pytest.mark.parametrize(
    "one",
    [
        crash(ROWS, (8, 3)),
        crash(ROWS, (8,)),
        crash(ROWS, (8, 1), (16, 3)),
        crash(ROWS, (8, 1), (8, 2)),
        crash(ROWS, (8, 1), (8, 1)),
    ],
    ids=["columns", "right", "another batch", "no class 2", "one output"],
)
def test_silence(one: LossCrash) -> None:
    assert one.found(RULE) == []
