"""A binary classifier, with its accuracy on held-out rows after each epoch."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, held_out = torch.randn(256, 8), torch.randn(200, 8)
y = (x[:, 0] + 0.5 * torch.randn(256) > 0.6).float()
expected = (held_out[:, 0] + 0.5 * torch.randn(200) > 0.6).float()
train = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(held_out, expected), batch_size=32)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.03)


def accuracy():
    right = 0
    with torch.no_grad():
        for batch, labels in valid:
            right += ((model(batch).squeeze(1) > 0).float() == labels).sum().item()
    return right / len(expected)


def fit():
    for batch, labels in train:
        loss = F.binary_cross_entropy_with_logits(model(batch).squeeze(1), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


score = accuracy()
for epoch in range(4):
    fit()
    newest = accuracy()
    print(f"epoch {epoch} val accuracy {score:.4f}")
    score = newest
