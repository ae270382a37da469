"""Attention over a few slots; slots that are empty get no weight."""

import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.score = nn.Linear(width, 1)
        self.head = nn.Linear(width, 3)

    def forward(self, slots: torch.Tensor, empty: torch.Tensor) -> torch.Tensor:
        weights = torch.softmax(self.score(slots).squeeze(-1), dim=1)
        weights = weights.masked_fill(empty, 0.0)
        pooled = (weights.unsqueeze(-1) * slots).sum(dim=1)
        return self.head(pooled)


torch.manual_seed(0)
pool = Pool()
optimizer = torch.optim.Adam(pool.parameters(), lr=1e-2)
for _ in range(6):
    slots, empty = torch.randn(10, 5, 12), torch.rand(10, 5) < 0.3
    loss = nn.functional.cross_entropy(pool(slots, empty), torch.randint(0, 3, (10,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
