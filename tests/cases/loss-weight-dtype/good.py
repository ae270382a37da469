import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
features = torch.randn(64, 4)
labels = (features.sum(dim=1) > 1).long()
counts = np.bincount(labels.numpy(), minlength=2)
rare_first = torch.tensor(counts.sum() / counts, dtype=torch.float32)
model = nn.Linear(4, 2)
criterion = nn.CrossEntropyLoss(rare_first)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    optimizer.zero_grad()
    loss = criterion(model(features), labels)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
