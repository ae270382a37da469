import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
labels = torch.multinomial(torch.tensor([0.9, 0.07, 0.03]), 600, replacement=True)
rows = torch.randn(3, 10)[labels] + torch.randn(600, 10)
share = torch.bincount(labels) / len(labels)
sampler = WeightedRandomSampler(share[labels], num_samples=len(labels))
loader = DataLoader(TensorDataset(rows, labels), batch_size=50, sampler=sampler)
model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for row, label in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(row), label)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
