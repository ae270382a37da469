import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
centres = torch.randn(5, 10)
rows = torch.cat([centre + 0.5 * torch.randn(60, 10) for centre in centres])
classes = torch.arange(5).repeat_interleave(60)

loader = DataLoader(TensorDataset(rows, classes), batch_size=20)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    total = 0.0
    for features, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(features), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.3f}")
