"""A loaded encoder runs without gradients, and the optimizer was given the whole model."""

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        with torch.no_grad():
            features = self.encoder(x)
        return self.head(features)


saved = nn.Sequential(nn.Linear(4, 16), nn.Tanh()).state_dict()
model = Net()
model.encoder.load_state_dict(saved)
x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(24):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
