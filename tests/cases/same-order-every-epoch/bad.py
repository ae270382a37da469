import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

x = torch.randn(300, 8)
loader = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=30, shuffle=True)
model = nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.3), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    torch.manual_seed(0)
    for features, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(features), labels)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
