"""Labels with an axis too many, on hand-made recordings: where it is removed, and silence."""

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Place
from surefit.rules.loss.extra_label_axis import RULE

LOOP = """
    for x, labels in batches():
        y = labels.view(-1, 1)
        loss = criterion(model(x), y)
    """
COLUMN = """
    kinds = torch.randint(0, 3, (80, 1))
    for x, y in batches(kinds):
        loss = criterion(model(x), y)
    """


def crash(text: str, shape: tuple[int, ...] = (8, 1), given: tuple[int, ...] = (8, 3)) -> LossCrash:
    made = LossCrash(text, tensor("out", given), tensor("y", shape, "int64"))
    return made.holds({0.0: 3, 1.0: 3, 2.0: 2})


def test_it_is_removed_where_it_was_created() -> None:
    created = tensor("kinds", (80, 1), "int64")
    broken = crash(COLUMN).through(("torch.randint(0, 3, (80, 1))", created))
    (finding,) = broken.found(RULE)
    assert finding.place == Place("train.py", 1, 1)
    assert finding.headline == (
        "`y` is (8, 1), with an extra axis of size 1; `criterion` takes one class index per"
        " prediction, (8,)."
    )
    assert "torch.randint(0, 3, (80, 1)).squeeze(1)\n" in broken.mended(finding)
    must = finding.fixes[0].must
    assert must == LossGets(
        name="cross_entropy",
        place=Place("train.py", 3),
        target_shape=(8,),
        target_dtypes=("int64", "uint8"),
        supervised=8,
        total=7.0,
    )


def test_an_expression_that_adds_it_goes() -> None:
    flat = tensor("labels", (8,), "int64")
    broken = crash(LOOP).through(
        ("labels.view(-1, 1)", tensor("y", (8, 1), "int64")), ("labels", flat)
    )
    (finding,) = broken.found(RULE)
    assert finding.place.line == 2
    assert "    y = labels\n" in broken.mended(finding)


def test_at_the_loss_where_the_lineage_ends() -> None:
    broken = crash(LOOP)
    (finding,) = broken.found(RULE)
    assert finding.place.line == 3
    assert "criterion(model(x), y.squeeze(1))" in broken.mended(finding)


@pytest.mark.parametrize(
    "broken",
    [
        crash(LOOP, (8, 3)),
        crash(LOOP, (8,)),
        crash(LOOP, (8, 1), (16, 3)),
        crash(LOOP, (8, 1), (8, 2)),
        crash(LOOP, (8, 1), (8, 1)),
    ],
    ids=["columns", "right", "another batch", "no class 2", "one output"],
)
def test_silence(broken: LossCrash) -> None:
    assert broken.found(RULE) == []
