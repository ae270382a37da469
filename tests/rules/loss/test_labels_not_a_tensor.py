"""Lists and arrays in the place of targets, on hand-made recordings."""

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.observations import Value
from surefit.rules.loss.labels_not_a_tensor import RULE

LOOP = """
    import torch
    class Rows(Dataset):
        def __getitem__(self, row):
            return self.x[row], self.marks[row]
    for x, y in loader:
        loss = criterion(model(x), y)
    """
BINARY = "binary_cross_entropy_with_logits"


def numbers(*each: int) -> Value:
    members = {str(at): Value(str(at), "int", scalar=one) for at, one in enumerate(each)}
    return Value("y", "list", 4, length=len(each), members=members)


def columns(count: int, rows: int) -> Value:
    members = {str(at): tensor(str(at), (rows,), "int64") for at in range(count)}
    return Value("y", "list", 4, length=count, members=members)


def test_a_list_of_numbers() -> None:
    one = LossCrash(LOOP, tensor("out", (4, 3)), numbers(0, 2, 1, 1))
    (finding,) = one.found(RULE)
    assert finding.headline == (
        "`y` is a list of 4 numbers, not a tensor; `criterion` takes one of (4,)."
    )
    assert "criterion(model(x), torch.tensor(y))" in one.mended(finding)
    must = finding.fixes[0].must
    assert isinstance(must, LossGets)
    assert (must.target_shape, must.total) == ((4,), 4.0)


def test_an_array() -> None:
    array = Value("y", "ndarray", 4, shape=(4,), dtype="float64")
    one = LossCrash(LOOP, tensor("out", (4, 3)), array)
    (finding,) = one.found(RULE)
    assert "criterion(model(x), torch.from_numpy(y).long())" in one.mended(finding)


def test_lists_of_rows_are_mended_in_the_dataset() -> None:
    one = LossCrash(LOOP, tensor("out", (8, 3)), columns(3, 8), function=BINARY)
    marks = Value("marks", "list", 6, length=3, kinds={"int": 3})
    one.through(("self.marks[row]", marks))
    (finding,) = one.found(RULE)
    assert finding.place.line == 4
    wanted = "return self.x[row], torch.tensor(self.marks[row], dtype=torch.float)\n"
    assert wanted in one.mended(finding)


@pytest.mark.parametrize(
    "one",
    [
        LossCrash(LOOP, tensor("out", (4, 3)), numbers(0, 1)),
        LossCrash(LOOP, tensor("out", (8, 4)), columns(3, 8), function=BINARY),
        LossCrash(LOOP, tensor("out", (4, 3)), tensor("y", (4,), "int64")),
    ],
    ids=["another number", "another width", "a tensor"],
)
def test_silence(one: LossCrash) -> None:
    assert one.found(RULE) == []
