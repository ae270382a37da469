"""Cross-validation: every fold makes its own model and optimizer, and catches nothing."""

import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(90, 6), torch.randint(0, 3, (90,))
scores = []
for fold in range(3):
    held_out = torch.arange(90) % 3 == fold
    model = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(15):
        loss = nn.functional.cross_entropy(model(x[~held_out]), y[~held_out])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        scores.append((model(x[held_out]).argmax(-1) == y[held_out]).float().mean().item())
print(f"scores {', '.join(f'{score:.3f}' for score in scores)}")
