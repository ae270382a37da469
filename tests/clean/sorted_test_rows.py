"""Healthy: training draws classes evenly, test rows come class after class and of one mostly."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
labels = (torch.rand(500) < 0.15).long()
x = torch.randn(500, 6) + 3 * labels.unsqueeze(-1) * torch.tensor([1.0, -1, 0, 0, 1, 0])
counts = torch.bincount(labels[:400])
weights = (1 / counts.float())[labels[:400]]
train = DataLoader(
    TensorDataset(x[:400], labels[:400]), batch_size=25, sampler=WeightedRandomSampler(weights, 400)
)
order = labels[400:].argsort()
test = DataLoader(TensorDataset(x[400:][order], labels[400:][order]), batch_size=25)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(4):
    model.train()
    for rows, classes in train:
        loss = nn.functional.cross_entropy(model(rows), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
model.eval()
right = 0
with torch.no_grad():
    for rows, classes in test:
        right += (model(rows).argmax(1) == classes).sum().item()
print("test", right / 100)
