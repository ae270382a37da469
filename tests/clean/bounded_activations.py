"""A network of bounded activations, a few of which are saturated, as always."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(5, 24), nn.ReLU6(), nn.Linear(24, 24), nn.Hardtanh(), nn.Linear(24, 1)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
x = 3 * torch.randn(80, 5)
y = x.abs().sum(dim=1, keepdim=True)
for _ in range(25):
    loss = nn.functional.mse_loss(model(x).clamp(min=-50, max=50), y)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)
    optimizer.step()
print(f"loss {loss.item():.4f}")
