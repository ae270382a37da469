import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
labels = (torch.rand(400) < 0.05).long()
rows = torch.randn(400, 6) + labels[:, None]
weights = 1.0 / torch.bincount(labels)[labels]
sampler = WeightedRandomSampler(weights, num_samples=len(labels))
train_loader = DataLoader(TensorDataset(rows, labels), batch_size=32, sampler=sampler)
model = nn.Linear(6, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.4f}")
