"""Takes the weights of a checkpoint and trains them further, with a rate that rises to the end."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(160, 8)
y = torch.sin(x @ torch.randn(8, 1))
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))

optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for inputs, targets in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(inputs), targets).backward()
    optimizer.step()
state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 1}
torch.save(state, "weights.pt")

saved = torch.load("weights.pt")
model.load_state_dict(saved["model"])
print(f"weights of epoch {saved['epoch']}")
tuned = torch.optim.SGD(model.parameters(), lr=0.02)
rise = torch.optim.lr_scheduler.LambdaLR(tuned, lambda step: (step + 1) / 30)
for _ in range(3):
    for inputs, targets in loader:
        tuned.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        tuned.step()
        rise.step()
print(f"loss {loss.item():.4f}")
