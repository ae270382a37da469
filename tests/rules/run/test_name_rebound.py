"""Names that are bound again: built-ins, attributes, a loss that became a number."""

from pathlib import Path

import pytest

from running import forked_run, written

pytestmark = pytest.mark.slow

SCRIPT = """
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    {before}
    for step in range(4):
        features = torch.randn(8, 4)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(features), features.sum(1, keepdim=True))
        {inside}
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("before", "inside", "line", "new"),
    [
        ("sum = 0.0", "total = sum([loss.item()])", 7, "sum_value = 0.0"),
        ("history = []", "loss = loss.item()", 12, "loss_value = loss.item()"),
        ("model.scale = abs", "model.scale = model.scale(-1.0)", 12, "model.scale_value = "),
    ],
)
def test_the_assignment_is_the_place(
    tmp_path: Path, before: str, inside: str, line: int, new: str
) -> None:
    script = written(tmp_path, train=SCRIPT.format(before=before, inside=inside)).name
    first, *others = forked_run([script], tmp_path).document["findings"]
    assert (first["rule"], first["place"]["line"], others) == ("name-rebound", line, [])
    assert new in first["fixes"][0]["patch"]
    assert first["fixes"][0]["proof"]["status"] == "held"


def test_a_value_that_has_one_meaning_is_not_rebound(tmp_path: Path) -> None:
    script = written(tmp_path, train=SCRIPT.format(before="rate = 0.1", inside="rate()")).name
    first, *_ = forked_run([script], tmp_path).document["findings"]
    assert first["rule"] == "unrecognised-crash"
