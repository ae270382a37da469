"""A model labels its own batches without gradients, in training mode, and is monitored on the batch
that it learns from."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, unlabelled = torch.randn(64, 6), torch.randn(64, 6)
y = x[:, :3].argmax(1)
for step in range(30):
    with torch.no_grad():
        guessed = model(unlabelled).softmax(-1)
        sure = (guessed.max(-1).values > 0.6).float()
    noisy = unlabelled + 0.1 * torch.randn_like(unlabelled)
    each = F.cross_entropy(model(noisy), guessed.argmax(-1), reduction="none")
    loss = F.cross_entropy(model(x), y) + 0.1 * (each * sure).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        with torch.no_grad():
            right = (model(x).argmax(-1) == y).float().mean().item()
        print(f"step {step} loss {loss.item():.4f} accuracy on the batch {right:.3f}")
