"""Crashes whose cause stands in another line: where the finding is placed, and its first change."""

from pathlib import Path

import pytest

from running import forked_run, written

pytestmark = pytest.mark.slow

TABLE = """
import pandas as pd
import torch
table = pd.DataFrame({"flow": [1.0, 2.0, 4.0], "valve": [4.0, 4.0, 4.0]})
scaled = (table - table.mean()) / table.std(ddof=0)
inputs = torch.tensor(scaled.to_numpy(), dtype=torch.float32)
net = torch.nn.Linear(2, 1)
torch.distributions.Normal(net(inputs), torch.ones(3, 1))
"""
JOINED = """
import pandas as pd
import torch
shops = pd.DataFrame({"shop": [1, 2], "region": [1, 1], "size": [3.0, 4.0]})
orders = pd.DataFrame({"shop": [1, 2, 2], "region": [1, 1, 2]})
joined = orders.merge(shops, on="shop")
columns = ["size", "region"]
features = torch.tensor(joined[columns].to_numpy())
"""
REDUCED = """
import torch
from torch import nn
def pooled(states):
    weights = torch.softmax(states.sum(-1, keepdim=True), dim=1)
    return (weights * states).sum(dim=2)
norm = nn.LayerNorm(6)
norm(pooled(torch.randn(2, 3, 6)))
"""
INDEXED = """
import pandas as pd
import torch
pd.DataFrame({"age": [1.0, 2.0, 3.0], "dose": [1.0, 0.5, 2.0]}).to_csv("rows.csv")
rows = pd.read_csv("rows.csv")
inputs = torch.tensor(rows.to_numpy(), dtype=torch.float32)
torch.nn.Linear(2, 1)(inputs)
"""
COUNTED = """
import torch
settings = {"labels": 4, "best": (1, 9)}
scores = torch.randn(5, settings["labels"])
for k in settings["best"]:
    scores.topk(k, dim=-1)
"""
INFERENCE = """
import torch
body = torch.nn.Linear(3, 2)
@torch.inference_mode()
def centres():
    return body(torch.randn(4, 3))
anchors = centres()
loss = (body(torch.randn(5, 3)) @ anchors.T).sum()
"""


@pytest.mark.parametrize(
    ("text", "rule", "line", "becomes"),
    [
        (TABLE, "not-finite-value-refused", 4, "/ table.std(ddof=0).replace(0, 1)"),
        (JOINED, "key-not-there", 5, 'columns = ["size", "region_x"]'),
        (REDUCED, "feature-width-mismatch", 5, "(weights * states).sum(dim=1)"),
        (INDEXED, "feature-width-mismatch", 4, 'read_csv("rows.csv", index_col=0)'),
        (COUNTED, "operands-that-do-not-fit", 2, '"best": (1, 4)}'),
        (INFERENCE, "inference-tensor-in-training", 3, "@torch.no_grad()"),
    ],
)
def test_the_finding_stands_at_the_cause(
    text: str, rule: str, line: int, becomes: str, tmp_path: Path
) -> None:
    script = written(tmp_path, train=text)
    ran = forked_run([script.name], tmp_path, ["--proof", "--no-in-time"])
    (finding,) = ran.document["findings"]
    assert (finding["rule"], finding["place"]["line"]) == (rule, line)
    assert becomes in finding["fixes"][0]["patch"]
