"""A critic whose weights are clamped after every step, as in the first Wasserstein GANs."""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.RMSprop(critic.parameters(), lr=5e-3)
for _ in range(20):
    real, fake = torch.randn(32, 2) + 1, torch.randn(32, 2)
    loss = critic(fake).mean() - critic(real).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for parameter in critic.parameters():
            parameter.clamp_(-0.05, 0.05)
print(f"loss {loss.item():.4f}")
