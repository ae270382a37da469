"""Losses whose two sides do not go together, in scripts that are only read."""

import pytest

from loss_scripts import tagger
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


@pytest.mark.parametrize(
    ("loss", "rules"),
    [
        ("F.cross_entropy(logits, tags)", ["class-axis-last"]),
        ("F.cross_entropy(logits.transpose(1, 2), tags)", []),
        ("F.cross_entropy(logits, tags.view(-1))", ["flattened-on-one-side"]),
        ("F.cross_entropy(logits[:, 0], tags[:, :1])", ["extra-label-axis"]),
        ("F.cross_entropy(logits[:, 0], tags[:, 0].float())", ["label-dtype"]),
        ("F.cross_entropy(logits[:, 0], F.one_hot(tags[:, 0], CLASSES))", ["one-hot-labels"]),
        (
            "F.binary_cross_entropy_with_logits(logits[:, 0], tags[:, 0])",
            ["class-indices-in-binary-loss"],
        ),
        ("F.mse_loss(logits[:, 0, :1], tags[:, 0].float())", ["size-of-predictions"]),
        ("F.cross_entropy(logits[:, 0], [1] * 8)", []),
    ],
)
def test_each_violation_has_its_rule(loss: str, rules: list[str]) -> None:
    """What violates is tested beside the interpreter."""
    assert said(tagger(loss)) == rules


def test_the_patch_stands_behind_the_side_that_is_wrong() -> None:
    (finding,) = read(class_axis_last.RULE, tagger("F.cross_entropy(logits, tags)"))
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert [one.text for one in fix.edit.changes] == [".transpose(1, 2)"]
    assert finding.severity == "warning"
