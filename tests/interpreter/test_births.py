"""Where a violation comes from: the expression at which the wrong property came into being."""

import pytest

from surefit.interpreter import violations_of
from surefit.source.reading import Source

IMPORTS = """
import io
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
"""

BIRTHS = {
    "a width: the layer before": (
        "x = nn.Linear(4, 6)(torch.randn(2, 4))\nnn.Linear(5, 1)(x)",
        ("layer_width", "nn.Linear(5, 1)(x)", "nn.Linear(4, 6)"),
    ),
    "a width: the tensor": (
        "x = torch.randn(2, 4)\nnn.Linear(5, 1)(x)",
        ("layer_width", "nn.Linear(5, 1)(x)", "torch.randn(2, 4)"),
    ),
    "a dtype: the cast, through operations that keep it": (
        "x = torch.randn(2, 4).double()\nx = x.flatten(1)[:1] * 2\nnn.Linear(4, 1)(x)",
        ("two_dtypes", "nn.Linear(4, 1)(x)", "torch.randn(2, 4).double()"),
    ),
    "a dtype: the array": (
        "x = torch.from_numpy(np.zeros((2, 4)))\nnn.Linear(4, 1)(x)",
        ("two_dtypes", "nn.Linear(4, 1)(x)", "np.zeros((2, 4))"),
    ),
    "a table: its number of rows": (
        "ROWS = 10\nids = torch.randint(0, 20, (4,))\nnn.Embedding(ROWS, 3)(ids)",
        ("outside_table", "nn.Embedding(ROWS, 3)(ids)", "10"),
    ),
    "heads: the number that is written": (
        "HEADS = 3\nnn.MultiheadAttention(16, HEADS)",
        ("indivisible_width", "nn.MultiheadAttention(16, HEADS)", "3"),
    ),
    "a graph: what cut it": (
        "loss = nn.Linear(4, 1)(torch.randn(2, 4)).detach().mean()\nloss.backward()",
        (
            "no_graph",
            "loss.backward()",
            "nn.Linear(4, 1)(torch.randn(2, 4)).detach()",
        ),
    ),
    "several numbers: the loss that was not reduced": (
        "out = nn.Linear(4, 1)(torch.randn(2, 4))\n"
        "loss = F.mse_loss(out, torch.zeros(2, 1), reduction='none')\nloss.backward()",
        (
            "not_one_number",
            "loss.backward()",
            "F.mse_loss(out, torch.zeros(2, 1), reduction='none')",
        ),
    ),
    "a view: the transposition": (
        "x = torch.randn(2, 3, 4).transpose(1, 2)\nx.view(2, 12)",
        ("not_contiguous", "x.view(2, 12)", "torch.randn(2, 3, 4).transpose(1, 2)"),
    ),
    "a device: the tensor that was not moved": (
        "model = nn.Linear(4, 1).to('cuda')\nx = torch.randn(2, 4)\nmodel(x)",
        ("two_devices", "model(x)", "torch.randn(2, 4)"),
    ),
    "a checkpoint: the dict that was saved": (
        "f = io.BytesIO()\ntorch.save({'step': 1}, f)\ntorch.load(f)['epoch']",
        ("entry_absent", "torch.load(f)['epoch']", "{'step': 1}"),
    ),
    "targets of another dtype: the constructor": (
        "y = torch.zeros(8)\nF.cross_entropy(nn.Linear(4, 3)(torch.randn(8, 4)), y)",
        (
            "target_dtype",
            "F.cross_entropy(nn.Linear(4, 3)(torch.randn(8, 4)), y)",
            "torch.zeros(8)",
        ),
    ),
    "one-hot targets: the call": (
        "y = F.one_hot(torch.randint(0, 3, (8,)), 3)\n"
        "F.cross_entropy(nn.Linear(4, 3)(torch.randn(8, 4)), y)",
        (
            "target_axes",
            "F.cross_entropy(nn.Linear(4, 3)(torch.randn(8, 4)), y)",
            "F.one_hot(torch.randint(0, 3, (8,)), 3)",
        ),
    ),
    "labels of a dataset: the number in its row": (
        "class Rows(Dataset):\n"
        "    def __len__(self):\n        return 8\n"
        "    def __getitem__(self, at):\n        return torch.randn(4), float(at)\n"
        "for x, y in DataLoader(Rows()):\n"
        "    F.cross_entropy(nn.Linear(4, 3)(x), y)",
        ("target_dtype", "F.cross_entropy(nn.Linear(4, 3)(x), y)", "float(at)"),
    ),
}


@pytest.mark.parametrize(("text", "expected"), BIRTHS.values(), ids=BIRTHS.keys())
def test_a_violation_is_born_at(text: str, expected: tuple[str, str, str]) -> None:
    source = Source("train.py", IMPORTS + text)
    derived = [
        (broken.name, source.segment(broken.node), source.segment(broken.birth))
        for broken in violations_of(source)
    ]
    assert derived == [expected]


HEALTHY = {
    "ignored labels": "F.cross_entropy(torch.randn(3, 3), torch.tensor([0, 2, -100]))",
    "labels that are ignored by another number": (
        "nn.CrossEntropyLoss(ignore_index=255)(torch.randn(3, 3), torch.tensor([0, 2, 255]))"
    ),
    "probabilities": "F.cross_entropy(torch.randn(3, 5), torch.softmax(torch.randn(3, 5), -1))",
    "pictures": (
        "scores = nn.Conv2d(3, 5, 1)(torch.randn(2, 3, 8, 8))\n"
        "F.cross_entropy(scores, torch.randint(0, 5, (2, 8, 8)))"
    ),
    "one row without a batch": "F.cross_entropy(torch.randn(5), torch.tensor(4))",
    "several labels": (
        "y = torch.zeros(4, 3, dtype=torch.float32)\n"
        "F.binary_cross_entropy_with_logits(torch.randn(4, 3), y)"
    ),
}


@pytest.mark.parametrize("text", HEALTHY.values(), ids=HEALTHY.keys())
def test_nothing_is_derived_of(text: str) -> None:
    assert violations_of(Source("train.py", IMPORTS + text)) == ()
