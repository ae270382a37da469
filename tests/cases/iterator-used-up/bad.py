import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(320, 8)
labelled = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=32, shuffle=True)
unlabelled = DataLoader(torch.randn(320, 8), batch_size=32, shuffle=True)
pairs = zip(labelled, unlabelled, strict=True)

model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(4):
    steps = 0
    for (features, labels), more in pairs:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(features), labels)
        loss = loss + 0.01 * model(more).pow(2).mean()
        loss.backward()
        optimizer.step()
        steps += 1
    print(f"epoch {epoch}: {steps} steps, loss {loss.item():.3f}")
