import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(0)
x = torch.randn(400, 8)
labels = (x[:, 0] > 0.8).long()
class_weights = 1.0 / torch.bincount(labels)
sampler = WeightedRandomSampler(class_weights, num_samples=len(x))
loader = DataLoader(TensorDataset(x, labels), batch_size=20, sampler=sampler)

model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for features, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(features), targets)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
