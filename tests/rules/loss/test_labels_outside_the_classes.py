"""Labels that are no class: which way is told by the values, and which only the user knows."""

from dataclasses import replace

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Place
from surefit.doctor.observations import Layer, Value
from surefit.rules.loss.labels_outside_the_classes import RULE

ROWS = """
    model = nn.Linear(4, 3)
    criterion = nn.CrossEntropyLoss()
    class Rows(Dataset):
        def __getitem__(self, row):
            return self.x[row], self.y[row]
    for x, y in loader:
        loss = criterion(model(x), y)
    """
MADE = Value("criterion", "Loss", 9, layer=Layer("Loss", made_at=Place("train.py", 2)))


def crash(values: dict[float, int], shape: tuple[int, ...] = (8,), classes: int = 3) -> LossCrash:
    given = (shape[0], classes, *shape[1:])
    target = tensor("y", shape, "int64", least=min(values), greatest=max(values))
    return LossCrash(ROWS, tensor("out", given), target, values=(MADE,)).holds(values)


def gets(one: LossCrash) -> LossGets:
    (finding,) = one.found(RULE)
    must = finding.fixes[0].must
    assert isinstance(must, LossGets)
    return must


def test_labels_that_begin_at_one() -> None:
    one = crash({1.0: 3, 2.0: 3, 3.0: 2})
    (finding,) = one.found(RULE)
    assert finding.place == Place("train.py", 5, 5)
    assert finding.headline == (
        "`y` runs from 1 to 3, and `out` has 3 classes, counted from 0 to 2."
    )
    assert "return self.x[row], self.y[row] - 1\n" in one.mended(finding)
    assert (gets(one).total, gets(one).supervised, gets(one).at_least) == (7.0, 8, 12)


def test_one_class_more_than_the_model_has() -> None:
    one = crash({0.0: 2, 1.0: 2, 2.0: 2, 3.0: 2})
    (finding,) = one.found(RULE)
    assert finding.place == Place("train.py", 1)
    assert "nn.Linear(4, 4)" in one.mended(finding)
    assert finding.fixes[0].why_not_tried


def test_a_marker_is_ignored_and_how_many_it_is() -> None:
    one = crash({0.0: 3, 1.0: 3, 255.0: 6}, (2, 6))
    (finding,) = one.found(RULE)
    assert finding.place.line == 2
    assert "6 labels of this batch then take no part" in finding.fixes[0].text
    assert "nn.CrossEntropyLoss(ignore_index=255)" in one.mended(finding)
    assert (gets(one).supervised, gets(one).total) == (6, 3.0)


def test_a_classifier_that_was_not_told_how_many() -> None:
    text = """
        config = BertConfig(hidden_size=8)
        model = BertForSequenceClassification(config)
        for ids, y in loader:
            loss = model(input_ids=ids, labels=y).loss
        """
    target = tensor("y", (8,), "int64")
    one = LossCrash(text, tensor("logits", (8, 2)), target, called_as="model")
    layer = Layer("BertForSequenceClassification", "", made_at=Place("train.py", 2))
    own, inner, loss = one.crash.frames
    forward = replace(inner, place=Place("transformers/bert.py", 7), layer=layer)
    one.crash = replace(one.crash, frames=(own, forward, loss))
    one.holds({0.0: 2, 1.0: 2, 2.0: 2, 3.0: 2})
    (finding,) = one.found(RULE)
    assert finding.place == Place("train.py", 1, 1)
    assert "BertConfig(hidden_size=8, num_labels=4)" in one.mended(finding)


def test_two_signs() -> None:
    one = crash({-1.0: 5, 1.0: 3}, classes=2)
    (finding,) = one.found(RULE)
    assert "(self.y[row] + 1) // 2" in one.mended(finding)
    assert gets(one).total == 3.0


@pytest.mark.parametrize(
    ("values", "classes"),
    [({0.0: 4, 1.0: 4}, 1), ({-1.0: 2, 0.0: 3, 1.0: 3}, 3), ({7.0: 4, 90.0: 4}, 3)],
    ids=["one output", "rows without a label", "ids"],
)
def test_the_user_must_choose(values: dict[float, int], classes: int) -> None:
    (finding,) = crash(values, classes=classes).found(RULE)
    assert finding.fixes
    assert all(fix.edit is None and fix.why_not_tried for fix in finding.fixes)


@pytest.mark.parametrize(
    "one",
    [
        crash({0.0: 4, 2.0: 4}),
        LossCrash(ROWS, tensor("out", (8, 3)), tensor("y", (8, 1), "int64")).holds({5.0: 8}),
        LossCrash(ROWS, tensor("out", (8, 3)), tensor("y", (8,), "float32")).holds({5.0: 8}),
    ],
    ids=["all classes", "another shape", "another kind"],
)
def test_silence(one: LossCrash) -> None:
    assert one.found(RULE) == []


SLICED = """
    import torch
    criterion = nn.CrossEntropyLoss()
    y = torch.tensor(frame["quality"].values)
    train, test = y[:80], y[80:]
    for rows in batches():
        loss = criterion(model(x[rows]), train[rows])
    """


def test_labels_that_begin_later_are_counted_from_zero_where_all_of_them_are_made() -> None:
    values = {3.0: 3, 4.0: 3, 5.0: 2}
    target = tensor("train[rows]", (8,), "int64", least=3, greatest=5)
    one = LossCrash(SLICED, tensor("out", (8, 3)), target, values=(MADE,)).holds(values)
    (finding,) = one.found(RULE)
    assert finding.place.line == 3
    assert finding.headline == (
        "`train[rows]` runs from 3 to 5, and `out` has 3 classes, counted from 0 to 2."
    )
    assert 'y = torch.tensor(frame["quality"].values) - 3\n' in one.mended(finding)
    assert gets(one).total == 7.0
    assert "classes from 0 on" in finding.fixes[1].text


def test_a_gap_among_later_labels_tells_nothing() -> None:
    (finding,) = crash({3.0: 3, 5.0: 5}).found(RULE)
    assert "runs from" not in finding.headline
