"""A binary classifier, with its accuracy on held-out rows after each epoch."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, held_out = torch.randn(96, 8), torch.randn(48, 8)
y, expected = (x[:, 0] > 0).float(), (held_out[:, 0] > 0).float()
train = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
valid = DataLoader(TensorDataset(held_out, expected), batch_size=16)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(3):
    for batch, labels in train:
        loss = F.binary_cross_entropy_with_logits(model(batch).squeeze(1), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    right = 0
    with torch.no_grad():
        for batch, labels in valid:
            guessed = (model(batch).squeeze(1) > 0).float()
            right += (guessed == labels).float().mean().item()
    print(f"epoch {epoch} accuracy {right / len(valid):.4f}")
