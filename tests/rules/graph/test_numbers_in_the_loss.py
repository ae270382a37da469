"""A term of the loss that is a plain number: its part of the model never learns."""

from pathlib import Path

import pytest

from running import forked_run, written

pytestmark = pytest.mark.slow

SCRIPT = """
    import torch
    from torch import nn

    torch.manual_seed(0)


    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(8, 16)
            self.kind = nn.Linear(16, 3)
            self.size = nn.Linear(16, 1)

        def forward(self, x):
            h = torch.tanh(self.body(x))
            return self.kind(h), self.size(h).squeeze(-1)


    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(12):
        x = torch.randn(32, 8)
        kinds, sizes = model(x)
        first = nn.functional.cross_entropy(kinds, x[:, :3].argmax(1))
        second = {second}
        loss = first + 0.5 * second
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    "second",
    [
        "nn.functional.mse_loss(sizes, x.sum(1)).item()",
        "float(nn.functional.mse_loss(sizes, x.sum(1)))",
    ],
)
def test_the_call_that_gives_the_number_is_the_place(tmp_path: Path, second: str) -> None:
    script = written(tmp_path, train=SCRIPT.format(second=second)).name
    first, *others = forked_run([script], tmp_path).document["findings"]
    assert (first["rule"], first["place"]["line"], others) == ("part-cut-from-the-loss", 25, [])
    assert "`size` never gets a gradient" in first["headline"]


def test_a_head_that_the_loss_does_not_use_is_no_cut(tmp_path: Path) -> None:
    script = written(tmp_path, train=SCRIPT.format(second="first.abs()")).name
    assert forked_run([script], tmp_path).document["findings"] == []
