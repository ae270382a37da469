"""Which of two ways comes first: without the sigmoid, or with the loss that takes probabilities."""

from pathlib import Path

import pytest

from running import forked_run, written

pytestmark = pytest.mark.slow

SCRIPT = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())
    loss_function = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(30):
        features = torch.randn(32, 4)
        target = (features.sum(1, keepdim=True) > 0).float()
        loss = loss_function(model(features), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        features = torch.randn(200, 4)
        guess = {decision}
    print(guess.float().mean().item())
"""


@pytest.mark.parametrize(
    ("decision", "first_patch"),
    [
        ("model(features) > 0.5", "+loss_function = nn.BCELoss()"),
        ("torch.sigmoid(model(features)) > 0.5", "-model = nn.Sequential"),
    ],
)
def test_what_evaluation_does_with_outputs_decides(
    tmp_path: Path, decision: str, first_patch: str
) -> None:
    script = written(tmp_path, train=SCRIPT.format(decision=decision)).name
    first, *_ = forked_run([script], tmp_path).document["findings"]
    assert first["rule"] == "activation-before-the-loss"
    assert first_patch in first["fixes"][0]["patch"]
    assert [fix["proof"]["status"] for fix in first["fixes"]] == ["held", "held"]
