"""An optimizer that never steps while another one does."""

from pathlib import Path

import pytest

from running import forked_run

SCRIPT = """import torch
from torch import nn

torch.manual_seed(0)
encoder, head = nn.Sequential(nn.Linear(6, 8), nn.Tanh()), nn.Linear(8, 3)
slow = torch.optim.SGD(encoder.parameters(), lr=0.01)
fast = torch.optim.Adam(head.parameters(), lr=0.01)
x, y = torch.randn(256, 6), torch.randint(0, 3, (256,))
for step in range(60):
    rows = torch.randint(0, 256, (32,))
    loss = nn.functional.cross_entropy(head(encoder(x[rows])), y[rows])
    slow.zero_grad()
    fast.zero_grad()
    loss.backward()
    fast.step()
    LAST
print("ended")
"""

pytestmark = pytest.mark.slow


def test_its_step_is_added_beside_the_other(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.replace("    LAST\n", ""))
    found = forked_run(["train.py"], tmp_path).document["findings"]
    assert [finding["rule"] for finding in found] == ["no-step-taken"]
    assert "`slow` never steps" in found[0]["headline"]
    assert found[0]["place"]["line"] == 15
    assert "+    slow.step()" in found[0]["fixes"][0]["patch"]
    assert found[0]["fixes"][0]["proof"]["status"] == "held"


@pytest.mark.parametrize(
    "last",
    [
        "if step >= 40: slow.step()",
        "with torch.no_grad(): [p.sub_(0.01 * p.grad) for p in encoder.parameters()]",
        "slow.zero_grad(); encoder.requires_grad_(False)",
    ],
)
def test_it_steps_later_or_its_weights_move_or_are_frozen(tmp_path: Path, last: str) -> None:
    (tmp_path / "train.py").write_text(SCRIPT.replace("LAST", last))
    assert forked_run(["train.py"], tmp_path).document["findings"] == []
