"""Losses whose two sides do not go together, in scripts that are only read."""

import pytest

from loss_scripts import LOSSES, tagger
from reading import read
from surefit.rules.loss import (
    class_axis_last,
    class_indices_in_binary_loss,
    extra_label_axis,
    flattened_on_one_side,
    label_dtype,
    one_hot_labels,
    size_of_predictions,
)

ALL = (
    class_axis_last,
    class_indices_in_binary_loss,
    extra_label_axis,
    flattened_on_one_side,
    label_dtype,
    one_hot_labels,
    size_of_predictions,
)


def said(text: str) -> list[str]:
    return [one.rule for module in ALL for one in read(module.RULE, text)]


RULES = {
    "classes last": "class-axis-last",
    "column": "extra-label-axis",
    "flattened": "flattened-on-one-side",
    "indices": "class-indices-in-binary-loss",
    "one hot": "one-hot-labels",
    "square": "size-of-predictions",
    "takes float32": "label-dtype",
    "takes int64": "label-dtype",
}


@pytest.mark.parametrize(("loss", "words"), LOSSES)
def test_each_violation_has_its_rule(loss: str, words: list[str]) -> None:
    assert said(tagger(loss)) == [RULES[word] for word in words]


def test_the_patch_stands_behind_the_side_that_is_wrong() -> None:
    (finding,) = read(class_axis_last.RULE, tagger("F.cross_entropy(logits, tags)"))
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert [one.text for one in fix.edit.changes] == [".transpose(1, 2)"]
    assert finding.severity == "warning"
