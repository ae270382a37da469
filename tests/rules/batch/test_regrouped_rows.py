"""A reshape for complete batches whose numbers divide: rows are mixed, the next layer raises."""

from pathlib import Path
from typing import Any

import pytest

from running import forked_run, written

pytestmark = pytest.mark.slow

SCRIPT = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    BATCH = 8
    rows = TensorDataset(torch.randn(20, 4, 6), torch.randn(20, 1))
    loader = DataLoader(rows, batch_size=BATCH)
    head = nn.Linear(24, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.01)
    for features, target in loader:
        flat = features.reshape({rows}, -1)
        loss = nn.functional.mse_loss(head({given}), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def findings(folder: Path, **parts: str) -> list[dict[str, Any]]:
    script = written(folder, train=SCRIPT.format(**parts)).name
    found: list[dict[str, Any]] = forked_run([script], folder).document["findings"]
    return found


def test_the_reshape_asks_the_batch(tmp_path: Path) -> None:
    first, *others = findings(tmp_path, rows="BATCH", given="flat")
    assert (first["rule"], others) == ("hard-coded-batch-size", [])
    assert (first["place"]["file"], first["place"]["line"]) == ("train.py", 12)
    assert "`features.reshape(BATCH, -1)` is written for batches of 8 rows" in str(first)
    assert "features.size(0)" in str(first)
    assert "`flat` is (4, 24)" in str(first)


def test_a_width_that_is_too_small_for_every_row_is_the_layer_s(tmp_path: Path) -> None:
    first, *_ = findings(tmp_path, rows="features.size(0)", given="flat[:, 1:]")
    assert first["rule"] == "feature-width-mismatch"
