"""A classifier with dropout, measured after each epoch."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, held_out = torch.randn(96, 8), torch.randn(48, 8)
y, expected = x[:, :4].argmax(1), held_out[:, :4].argmax(1)
train = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
valid = DataLoader(TensorDataset(held_out, expected), batch_size=16)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.4), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def evaluate(net):
    right = 0
    net.eval()
    with torch.no_grad():
        for batch, labels in valid:
            right += (net(batch).argmax(-1) == labels).sum().item()
    net.train()
    return right / len(held_out)


for epoch in range(3):
    for batch, labels in train:
        loss = F.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} accuracy {evaluate(model):.4f}")
