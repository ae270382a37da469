"""Learns to rank pairs; the scores of training and of evaluation come from one function."""

import torch
from torch import nn


class Ranker(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 1))

    @torch.no_grad()
    def scores(self, better: torch.Tensor, worse: torch.Tensor) -> torch.Tensor:
        return self.tower(better) - self.tower(worse)


torch.manual_seed(0)
ranker = Ranker()
optimizer = torch.optim.Adam(ranker.parameters(), lr=1e-2)
for _ in range(6):
    better, worse = torch.randn(16, 10) + 0.3, torch.randn(16, 10)
    loss = nn.functional.softplus(-ranker.scores(better, worse)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

ranker.eval()
right = (ranker.scores(torch.randn(50, 10) + 0.3, torch.randn(50, 10)) > 0).float().mean()
print(f"{right.item():.2f} of the pairs in order")
