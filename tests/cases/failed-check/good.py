import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR

torch.manual_seed(0)
features = torch.randn(96, 8)
labels = (features.sum(dim=1) > 0).long()
batches = list(zip(features.split(16), labels.split(16), strict=True))

EPOCHS = 3
model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scheduler = OneCycleLR(optimizer, max_lr=0.1, total_steps=EPOCHS * len(batches))
for epoch in range(EPOCHS):
    for rows, targets in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(rows), targets)
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
