"""Uncertainty by dropout at prediction time: many passes over one batch, in training mode."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, held_out = torch.randn(128, 6), torch.randn(64, 6)
y, expected = x[:, :3].argmax(1), held_out[:, :3].argmax(1)


def spread(model: nn.Module, passes: int = 8) -> tuple[float, float]:
    model.train()
    with torch.no_grad():
        drawn = torch.stack([model(held_out).softmax(-1) for _ in range(passes)])
    right = (drawn.mean(0).argmax(-1) == expected).float().mean().item()
    return right, drawn.std(0).mean().item()


def spread_by_layers(model: nn.Module, passes: int = 8) -> float:
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.train()
    with torch.no_grad():
        drawn = torch.stack([model(held_out).softmax(-1) for _ in range(passes)])
    model.train()
    return (drawn.mean(0).argmax(-1) == expected).float().mean().item()


for step in range(30):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        accuracy, deviation = spread(model)
        print(f"accuracy {accuracy:.3f} +- {deviation:.3f}, {spread_by_layers(model):.3f}")
