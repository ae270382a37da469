"""Last batches that are shorter, in scripts that are only read."""

import pytest

from reading import lines
from surefit.rules.batch import (
    batch_norm_of_one_row,
    hard_coded_batch_size,
    state_of_another_batch,
)

NORM = """import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset, random_split
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), {norm})
    def forward(self, x):
        return self.layers(x)
class Rows(Dataset):
    def __init__(self, count):
        self.rows = torch.randn(count, 6)
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, row):
        return self.rows[row], 0
rows = {rows}
loader = DataLoader(rows, batch_size=16{more})
model = Net()
for x, y in loader:
    loss = model(x).sum(){step}
"""
NORMED = "nn.BatchNorm1d(8)"
STEP = "\n    loss.backward()"
TENSORS = "TensorDataset(torch.randn({}, 6), torch.zeros({}))"


@pytest.mark.parametrize(
    ("norm", "rows", "more", "step", "found"),
    [
        (NORMED, TENSORS.format(33, 33), "", STEP, [18]),
        (NORMED, "Rows(33)", "", STEP, [18]),
        (NORMED, "Rows(32)", "", STEP, []),
        (NORMED, "Rows(unknown)", "", STEP, []),
        (NORMED, "Rows(33)", ", drop_last=True", STEP, []),
        (NORMED, "Rows(33)", "", "", []),
        ("nn.LayerNorm(8)", "Rows(33)", "", STEP, []),
    ],
)
def test_a_last_batch_of_one_row(
    norm: str, rows: str, more: str, step: str, found: list[int]
) -> None:
    text = NORM.format(norm=norm, rows=rows, more=more, step=step)
    assert lines(batch_norm_of_one_row.RULE, text) == found


STATE = """import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
BATCH = 16
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 4, batch_first=True)
    def forward(self, x, state=None):
        {forward}
model = Net()
loader = DataLoader(TensorDataset(torch.randn({rows}, 5, 3)), batch_size=BATCH)
state = None
for (x,) in loader:
    {loop}
    out.sum().backward()
"""
CARRIED = "out, state = model(x, state)\n    state = state.detach()"
GIVEN = "return self.gru(x, state)"


@pytest.mark.parametrize(
    ("forward", "rows", "loop", "found"),
    [
        (GIVEN, 40, CARRIED, [12]),
        (GIVEN, 48, CARRIED, []),
        (GIVEN, 40, "out, other = model(x, state)", []),
        (GIVEN, 40, f"{CARRIED}\n    state = None", []),
        ("return self.gru(x)", 40, CARRIED, []),
        ("return self.gru(x, state[:, : len(x)])", 40, CARRIED, []),
    ],
)
def test_a_state_that_goes_from_batch_to_batch(
    forward: str, rows: int, loop: str, found: list[int]
) -> None:
    text = STATE.format(forward=forward, rows=rows, loop=loop)
    assert lines(state_of_another_batch.RULE, text) == found


MADE = "state = torch.zeros(1, {}, 4)\n        return self.gru(x, state)"


@pytest.mark.parametrize(
    ("forward", "rows", "found"),
    [
        (MADE.format("BATCH"), 40, [10]),
        (MADE.format("BATCH"), 48, []),
        (MADE.format("x.size(0)"), 40, []),
        (MADE.format("len(x)"), 40, []),
    ],
)
def test_a_state_of_a_fixed_size(forward: str, rows: int, found: list[int]) -> None:
    text = STATE.format(forward=forward, rows=rows, loop="out, _ = model(x)")
    assert lines(hard_coded_batch_size.RULE, text) == found
