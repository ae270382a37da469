"""Compiled code in one graph, with a `try` inside it, and no second compilation."""

import contextlib

import ending
import torch
from torch import nn
from torch._dynamo.utils import counters

ending.seed()


class Net(nn.Module):
    """Small enough to compile in a moment."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(6, 12)
        self.second = nn.Linear(12, 2)
        self.scales = {"wide": 2.0}

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        try:
            scale = self.scales["narrow"]
        except KeyError:
            scale = 1.0
        hidden = torch.relu(self.first(rows))
        return self.second(hidden) * scale


def loss_of(model: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    with contextlib.suppress(ValueError):
        return nn.functional.cross_entropy(model(rows), labels)


net = Net()
whole = torch.compile(net, backend="aot_eager", fullgraph=True)
compiled_loss = torch.compile(loss_of, backend="eager")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(5):
    rows = torch.randn(4, 6)
    labels = torch.randint(2, (4,))
    loss = nn.functional.cross_entropy(whole(rows), labels)
    also = compiled_loss(net, rows, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), also.item())
print("graphs", counters["stats"]["unique_graphs"], "frames", dict(counters["frames"]))
print("breaks", sorted(counters["graph_break"].values()))
print("recompiled", sum(counters["recompiles"].values()) if "recompiles" in counters else 0)
ending.tell(net)
