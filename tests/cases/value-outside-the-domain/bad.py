import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
hours = torch.rand(64, 1)
load = 2 * hours + 0.3 * torch.randn(64, 1)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(8):
    mean, spread = model(hours).chunk(2, dim=1)
    loss = -Normal(mean, spread).log_prob(load).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
