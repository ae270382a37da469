"""Accuracy on some training rows is printed beside that on held-out ones."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(0)
x = torch.randn(400, 10)
rows = TensorDataset(x, (x[:, 0] > 0).long())
train_set, val_set = Subset(rows, range(300)), Subset(rows, range(300, 400))
loader = DataLoader(train_set, batch_size=30, shuffle=True)
monitored = DataLoader(Subset(train_set, range(60)), batch_size=60)
val_loader = DataLoader(val_set, batch_size=50)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def evaluate(loader):
    model.eval()
    with torch.no_grad():
        right = sum((model(a).argmax(1) == b).sum().item() for a, b in loader)
    model.train()
    return right / len(loader.dataset)


for _ in range(4):
    for features, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(features), labels).backward()
        optimizer.step()
    print(f"{evaluate(monitored):.2f} {evaluate(val_loader):.2f}")
