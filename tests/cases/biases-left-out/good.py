"""Weight decay for matrices alone."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(128, 4)
y = x.sum(1, keepdim=True) + 3
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
decay = [p for name, p in model.named_parameters() if not name.endswith("bias")]
rest = [p for name, p in model.named_parameters() if name.endswith("bias")]
groups = [{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=1e-2)
for epoch in range(5):
    for rows, wanted in zip(x.split(32), y.split(32), strict=True):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(rows), wanted)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}")
