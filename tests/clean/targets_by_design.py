"""Targets that are constant, ignored or of weight zero by design, and bounded predictions."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
a, b = nn.Linear(8, 8), nn.Linear(8, 8)
dom = nn.Linear(8, 2)
seg = nn.Conv2d(3, 4, 3, padding=1)
optimizer = torch.optim.Adam(
    [*a.parameters(), *b.parameters(), *dom.parameters(), *seg.parameters()], 1e-2
)
for _ in range(20):
    x = torch.randn(32, 8)
    u, v = F.normalize(a(x), dim=1), F.normalize(b(x + 0.1 * torch.randn_like(x)), dim=1)
    sim = u @ v.t() / 0.1
    loss = F.cross_entropy(sim, torch.arange(32))
    loss = (
        loss
        + F.nll_loss(F.log_softmax(dom(u), 1), torch.zeros(32, dtype=torch.long))
        + F.cross_entropy(dom(v), torch.ones(32, dtype=torch.long))
    )
    img = torch.randn(4, 3, 8, 8)
    lab = torch.randint(0, 4, (4, 8, 8))
    lab[:, 0] = 255
    loss = loss + F.cross_entropy(
        seg(img), lab, ignore_index=255, weight=torch.tensor([0.0, 1.0, 1.0, 1.0])
    )
    loss = loss + F.cross_entropy(torch.log_softmax(dom(u), 1), torch.ones(32, dtype=torch.long))
    loss = (
        loss
        + F.mse_loss(torch.sigmoid(a(x)), torch.rand(32, 8))
        + F.mse_loss(torch.tanh(b(x)), torch.rand(32, 8) * 1.9 - 0.95)
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
