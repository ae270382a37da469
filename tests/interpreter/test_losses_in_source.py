"""Losses whose two sides do not fit: dtypes, axes and class indices, derived from source."""

import pytest

from loss_scripts import LOSSES, tagger
from surefit.interpreter import violations_of
from surefit.source.reading import Source


def derived(text: str) -> list[str]:
    """What each violation is about: `classes last`, `takes int64`, or its type."""
    words: list[str] = []
    for broken in violations_of(Source("train.py", text)):
        if broken.name == "target_axes":
            words.append(str(broken.facts[-1]))
        elif broken.name == "target_dtype":
            words.append(f"takes {broken.facts[-1]}")
        else:
            words.append(broken.name)
    return words


@pytest.mark.parametrize(("loss", "words"), LOSSES)
def test_sizes_and_dtypes(loss: str, words: list[str]) -> None:
    assert derived(tagger(loss)) == words


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        ("return self.head(self.embed(words)).transpose(1, 2)", []),
        ("return self.head(self.embed(words).mean(1))", []),
        ("return self.head(words.unknown())", []),
        ("return F.relu(self.head(self.embed(words)))", ["classes last"]),
        ("x = self.embed(words)\n        x = self.head(x)\n        return x", ["classes last"]),
        ("return self.head(self.embed(words)) if self.training else words", ["classes last"]),
        ("return self.head(self.embed(words)) if words.sum() else words", []),
    ],
)
def test_what_a_forward_returns(forward: str, words: list[str]) -> None:
    text = tagger("nn.functional.cross_entropy(logits, tags)", forward.replace("\n", "\n        "))
    assert derived(text) == words


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
    ("label", "outputs", "loss", "words"),
    [
        ("int(row > 3)", 2, "CrossEntropyLoss", []),
        ("float(row > 3)", 2, "CrossEntropyLoss", ["takes int64"]),
        ("torch.tensor(row % 2)", 2, "CrossEntropyLoss", []),
        ("torch.tensor([1])", 2, "CrossEntropyLoss", ["column"]),
        ("float(row)", 1, "MSELoss", ["square"]),
        ("torch.tensor([0.5])", 1, "MSELoss", []),
        ("torch.tensor(0.5)", 1, "BCEWithLogitsLoss", ["square"]),
        ("torch.tensor([1, 0, 1])", 3, "BCEWithLogitsLoss", ["takes float32"]),
        ("torch.tensor([1, 0, 1]).float()", 3, "BCEWithLogitsLoss", []),
        ("self.labels[row]", 3, "BCEWithLogitsLoss", []),
    ],
)
def test_rows_of_a_dataset(label: str, outputs: int, loss: str, words: list[str]) -> None:
    assert derived(LOADED.format(label=label, outputs=outputs, loss=loss)) == words


ARRAYS = """
import numpy as np
import torch
from torch import nn
rng = np.random.default_rng(0)
x = rng.normal(size=(64, 6)).astype(np.float32)
y = {labels}
model = nn.Linear(6, 3)
loss = nn.CrossEntropyLoss()(model(torch.from_numpy(x)), {target})
"""


@pytest.mark.parametrize(
    ("labels", "target", "words"),
    [
        ("rng.integers(0, 3, size=64)", "torch.from_numpy(y)", []),
        ("rng.integers(0, 3, size=64) / 1", "torch.tensor(y)", ["takes int64"]),
        ("rng.integers(0, 3, size=(64, 1))", "torch.tensor(y)", ["column"]),
        ("rng.integers(0, 3, size=64).astype('int32')", "torch.tensor(y)", ["takes int64"]),
        ("rng.integers(0, 3, size=64).astype('int32')", "torch.tensor(y).long()", []),
        ("read()", "torch.tensor(y)", []),
    ],
)
def test_arrays(labels: str, target: str, words: list[str]) -> None:
    assert derived(ARRAYS.format(labels=labels, target=target)) == words
