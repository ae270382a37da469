"""Class 0 of the labels is no class: these pixels are void, and the loss ignores them."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
labels = torch.randint(1, 4, (64, 8, 8))
labels[:, :2] = 0
pictures = labels[:, None].float() + 0.3 * torch.randn(64, 1, 8, 8)
loader = DataLoader(TensorDataset(pictures, labels), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 1))
criterion = nn.CrossEntropyLoss(ignore_index=0)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.4f}")
