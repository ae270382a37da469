"""A classifier, with samplers for the training and the validation rows."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

torch.manual_seed(0)
x = torch.randn(240, 8)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
train, valid = TensorDataset(x[:200], y[:200]), TensorDataset(x[200:], y[200:])
loader = DataLoader(train, batch_size=16, sampler=RandomSampler(valid))

for epoch in range(4):
    for batch, labels in loader:
        loss = F.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
