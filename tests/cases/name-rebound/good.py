import torch
from torch import nn

torch.manual_seed(0)
features = torch.randn(64, 4)
labels = (features.sum(dim=1) > 0).long()
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
for epoch in range(4):
    for start in range(0, 64, 16):
        batch = slice(start, start + 16)
        optimizer.zero_grad()
        loss = criterion(model(features[batch]), labels[batch])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
