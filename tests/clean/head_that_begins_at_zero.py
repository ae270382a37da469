"""A last layer that begins at zero, under a warm-up from a rate of zero, evaluated early."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
features = torch.randn(480, 6)
labels = (features[:, 0] > features[:, 1]).long()
train = DataLoader(TensorDataset(features[:400], labels[:400]), batch_size=40, shuffle=True)
held_out = DataLoader(TensorDataset(features[400:], labels[400:]), batch_size=40)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
nn.init.zeros_(model[2].weight)
nn.init.zeros_(model[2].bias)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 10))


def accuracy():
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in held_out)
    model.train()
    return right / 80


print(f"before training: {accuracy():.3f}")
for epoch in range(4):
    for x, y in train:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    print(f"epoch {epoch}: {accuracy():.3f}")
