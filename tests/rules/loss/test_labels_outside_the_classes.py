"""Labels that are no class: which way follows from the values, and which is the user's choice."""

from dataclasses import replace

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Place
from surefit.doctor.observations import Layer, Value
from surefit.lineage.producers import Way
from surefit.rules.loss.labels_outside_the_classes import RULE

ROWS = """
    model = nn.Linear(4, 3)
    criterion = nn.CrossEntropyLoss()
    stars = torch.tensor(ratings)
    for x, y in loader:
        loss = criterion(model(x), y)
    """
CREATED = Value(
    "criterion",
    "CrossEntropyLoss",
    9,
    layer=Layer("CrossEntropyLoss", made_at=Place("train.py", 2)),
)
MODEL = Value("model", "Linear", 8, layer=Layer("Linear", "", made_at=Place("train.py", 1)))


def crash(values: dict[float, int], shape: tuple[int, ...] = (8,), classes: int = 3) -> LossCrash:
    given = (shape[0], classes, *shape[1:])
    target = tensor("y", shape, "int64", least=min(values), greatest=max(values))
    made = LossCrash(ROWS, tensor("out", given), target, values=(CREATED,))
    stars = tensor("stars", (80,), "int64", least=min(values), greatest=max(values))
    return made.holds(values).through(("torch.tensor(ratings)", stars))


def gets(broken: LossCrash) -> LossGets:
    (finding,) = broken.found(RULE)
    must = finding.fixes[0].must
    assert isinstance(must, LossGets)
    return must


def test_labels_that_begin_at_one() -> None:
    broken = crash({1.0: 3, 2.0: 3, 3.0: 2})
    (finding,) = broken.found(RULE)
    assert finding.place == Place("train.py", 3, 3)
    assert finding.headline == (
        "`y` runs from 1 to 3, and `out` has 3 classes, counted from 0 to 2."
    )
    assert "stars = torch.tensor(ratings) - 1\n" in broken.mended(finding)
    assert (gets(broken).total, gets(broken).supervised, gets(broken).at_least) == (7.0, 8, 12)


def test_one_class_more_than_the_model_has() -> None:
    broken = crash({0.0: 2, 1.0: 2, 2.0: 2, 3.0: 2})
    own, layer, loss = broken.crash.frames
    broken.crash = replace(
        broken.crash, frames=(replace(own, values=(*own.values, MODEL)), layer, loss)
    )
    broken.chains[(0, "model")] = (
        ("nn.Linear(4, 3)", MODEL),
        ("3", Value("3", "int", scalar=3), Way.ARGUMENT, "out_features"),
    )
    stars = tensor("stars", (80,), "int64", least=0.0, greatest=3.0)
    (finding,) = broken.through(("torch.tensor(ratings)", stars)).found(RULE)
    assert finding.place == Place("train.py", 1, 1)
    assert "nn.Linear(4, 4)" in broken.mended(finding)
    assert finding.fixes[0].choice


def test_a_marker_is_ignored_and_how_many_it_is() -> None:
    broken = crash({0.0: 3, 1.0: 3, 255.0: 6}, (2, 6))
    (finding,) = broken.found(RULE)
    assert finding.place.line == 2
    assert "6 labels of this batch then take no part" in finding.fixes[0].text
    assert "nn.CrossEntropyLoss(ignore_index=255)" in broken.mended(finding)
    assert (gets(broken).supervised, gets(broken).total) == (6, 3.0)
    assert finding.fixes[0].choice


def test_two_signs() -> None:
    broken = crash({-1.0: 5, 1.0: 3}, classes=2)
    (finding,) = broken.found(RULE)
    assert "(torch.tensor(ratings) + 1) // 2" in broken.mended(finding)
    assert gets(broken).total == 3.0


@pytest.mark.parametrize(
    ("values", "classes"),
    [({0.0: 4, 1.0: 4}, 1), ({-1.0: 2, 0.0: 3, 1.0: 3}, 3)],
    ids=["one output", "rows without a label"],
)
def test_what_the_values_do_not_tell_is_a_choice(values: dict[float, int], classes: int) -> None:
    (finding,) = crash(values, classes=classes).found(RULE)
    assert finding.fixes
    assert all(fix.choice for fix in finding.fixes)


@pytest.mark.parametrize(
    "broken",
    [
        crash({0.0: 4, 2.0: 4}),
        LossCrash(ROWS, tensor("out", (8, 3)), tensor("y", (8, 1), "int64")).holds({5.0: 8}),
        LossCrash(ROWS, tensor("out", (8, 3)), tensor("y", (8,), "float32")).holds({5.0: 8}),
    ],
    ids=["all classes", "another shape", "another dtype"],
)
def test_silence(broken: LossCrash) -> None:
    assert broken.found(RULE) == []


def test_a_gap_among_later_labels_does_not_tell() -> None:
    (finding,) = crash({3.0: 3, 5.0: 5}).found(RULE)
    assert "runs from" not in finding.headline
