"""Learns from labels first; the teacher's term begins after more steps than this run has."""

import torch
from torch import nn
from torch.nn import functional as F

LABELS_ALONE = 100

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4)).eval()
student = nn.Linear(8, 4)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
x, y = torch.randn(32, 8), torch.randint(0, 4, (32,))
for step in range(20):
    given = student(x)
    soft = torch.zeros(())
    if step >= LABELS_ALONE:
        with torch.no_grad():
            wanted = teacher(x).softmax(-1)
        soft = F.kl_div(given.log_softmax(-1), wanted, reduction="batchmean")
    loss = F.cross_entropy(given, y) + soft
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
