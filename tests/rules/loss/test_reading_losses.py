"""Losses whose two sides do not go together, in scripts that are only read."""

from textwrap import dedent

import pytest

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


def tagger(loss: str, forward: str = "return self.head(self.embed(words))") -> str:
    """Words in rows, and a score for each class at each word."""
    return dedent(
        f"""
        import torch
        from torch import nn
        import torch.nn.functional as F
        CLASSES = 5
        class Tagger(nn.Module):
            def __init__(self, classes=CLASSES):
                super().__init__()
                self.embed = nn.Embedding(100, 16)
                self.head = nn.Linear(16, classes)
            def forward(self, words):
                {forward}
        model = Tagger()
        words = torch.randint(0, 100, (8, 12))
        tags = words % CLASSES
        for _ in range(3):
            logits = model(words)
            loss = {loss}
            loss.backward()
        """
    )


@pytest.mark.parametrize(
    ("loss", "rules"),
    [
        ("F.cross_entropy(logits, tags)", ["class-axis-last"]),
        ("F.cross_entropy(logits.transpose(1, 2), tags)", []),
        ("F.cross_entropy(logits.permute(0, 2, 1), tags)", []),
        ("F.cross_entropy(logits.flatten(0, 1), tags.flatten())", []),
        ("F.cross_entropy(logits.view(-1, CLASSES), tags.view(-1))", []),
        ("F.cross_entropy(logits, tags.view(-1))", ["flattened-on-one-side"]),
        ("F.cross_entropy(logits.view(-1, CLASSES), tags)", ["flattened-on-one-side"]),
        ("F.cross_entropy(logits[:, 0], tags[:, 0])", []),
        ("F.cross_entropy(logits[:, 0], tags[:, :1])", ["extra-label-axis"]),
        ("F.cross_entropy(logits[:, 0], tags[:, 0].float())", ["label-dtype"]),
        ("F.cross_entropy(logits[:, 0], tags[:, 0].int())", ["label-dtype"]),
        ("F.cross_entropy(logits[:, 0], tags[:, 0].to(torch.float32))", ["label-dtype"]),
        ("F.cross_entropy(logits[:, 0], tags[:, 0].unsqueeze(-1))", ["extra-label-axis"]),
        ("F.cross_entropy(logits[:, 0], F.one_hot(tags[:, 0], CLASSES))", ["one-hot-labels"]),
        ("F.cross_entropy(logits[:, 0], F.one_hot(tags[:, 0], CLASSES).float())", []),
        ("F.cross_entropy(logits[:, 0], torch.softmax(other, -1))", []),
        ("nn.CrossEntropyLoss()(logits, tags)", ["class-axis-last"]),
        (
            "F.binary_cross_entropy_with_logits(logits[:, 0], tags[:, 0])",
            ["class-indices-in-binary-loss"],
        ),
        ("F.binary_cross_entropy_with_logits(logits[:, 0, 0], tags[:, 0])", ["label-dtype"]),
        ("F.binary_cross_entropy_with_logits(logits[:, 0, 0], tags[:, 0].float())", []),
        ("F.mse_loss(logits[:, 0, :1], tags[:, 0].float())", ["size-of-predictions"]),
        ("F.mse_loss(nn.Linear(5, 1)(logits[:, 0]), tags[:, 0].float())", ["size-of-predictions"]),
        ("F.mse_loss(nn.Linear(5, 1)(logits[:, 0]).squeeze(-1), tags[:, 0].float())", []),
        ("F.mse_loss(logits, unknown)", []),
        ("F.cross_entropy(logits[:, 0], [1] * 8)", []),
    ],
)
def test_sizes_and_kinds(loss: str, rules: list[str]) -> None:
    assert said(tagger(loss)) == rules


@pytest.mark.parametrize(
    ("forward", "rules"),
    [
        ("return self.head(self.embed(words)).transpose(1, 2)", []),
        ("return self.head(self.embed(words).mean(1))", []),
        ("return self.head(words.unknown())", []),
        ("return F.relu(self.head(self.embed(words)))", ["class-axis-last"]),
        ("x = self.embed(words)\n        x = self.head(x)\n        return x", ["class-axis-last"]),
        ("return self.head(self.embed(words)) if self.training else words", ["class-axis-last"]),
        ("return self.head(self.embed(words)) if words.sum() else words", []),
    ],
)
def test_what_a_forward_makes(forward: str, rules: list[str]) -> None:
    text = tagger("nn.functional.cross_entropy(logits, tags)", forward.replace("\n", "\n        "))
    assert said(text) == rules


LOADED = """
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
import torch
class Rows(Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, row):
        return torch.randn(6), {label}
model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, {outputs}))
criterion = nn.{loss}()
for epoch in range(2):
    for step, (x, y) in enumerate(DataLoader(Rows(), batch_size=4)):
        loss = criterion(model(x), y)
"""


@pytest.mark.parametrize(
    ("label", "outputs", "loss", "rules"),
    [
        ("int(row > 3)", 2, "CrossEntropyLoss", []),
        ("float(row > 3)", 2, "CrossEntropyLoss", ["label-dtype"]),
        ("torch.tensor(row % 2)", 2, "CrossEntropyLoss", []),
        ("torch.tensor([1])", 2, "CrossEntropyLoss", ["extra-label-axis"]),
        ("float(row)", 1, "MSELoss", ["size-of-predictions"]),
        ("torch.tensor([0.5])", 1, "MSELoss", []),
        ("torch.tensor(0.5)", 1, "BCEWithLogitsLoss", ["size-of-predictions"]),
        ("torch.tensor([1, 0, 1])", 3, "BCEWithLogitsLoss", ["label-dtype"]),
        ("torch.tensor([1, 0, 1]).float()", 3, "BCEWithLogitsLoss", []),
        ("self.labels[row]", 3, "BCEWithLogitsLoss", []),
    ],
)
def test_rows_of_a_dataset(label: str, outputs: int, loss: str, rules: list[str]) -> None:
    assert said(LOADED.format(label=label, outputs=outputs, loss=loss)) == rules


def test_the_patch_stands_behind_the_side_that_is_wrong() -> None:
    (finding,) = read(class_axis_last.RULE, tagger("F.cross_entropy(logits, tags)"))
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert [one.text for one in fix.edit.changes] == [".transpose(1, 2)"]
    assert finding.severity == "warning"


ARRAYS = """
import numpy as np
import torch
from torch import nn
rng = np.random.default_rng(0)
x = rng.normal(size=(64, 6)).astype(np.float32)
{labels}
model = nn.Linear(6, 3)
loss = nn.CrossEntropyLoss()(model(torch.from_numpy(x)), {given})
"""


@pytest.mark.parametrize(
    ("labels", "given", "rules"),
    [
        ("y = rng.integers(0, 3, size=64)", "torch.from_numpy(y)", []),
        ("y = rng.integers(0, 3, size=64) / 1", "torch.tensor(y)", ["label-dtype"]),
        ("y = rng.integers(0, 3, size=(64, 1))", "torch.tensor(y)", ["extra-label-axis"]),
        ("y = rng.integers(0, 3, size=64).astype('int32')", "torch.tensor(y)", ["label-dtype"]),
        ("y = rng.integers(0, 3, size=64).astype('int32')", "torch.tensor(y).long()", []),
        ("y = read()", "torch.tensor(y)", []),
    ],
)
def test_arrays(labels: str, given: str, rules: list[str]) -> None:
    assert said(ARRAYS.format(labels=labels, given=given)) == rules
