"""A small adversarial pair: a generator of points on a ring, and its critic."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
judge = nn.BCEWithLogitsLoss()

for _ in range(8):
    angles = torch.rand(32) * 6.283
    real = torch.stack([angles.cos(), angles.sin()], dim=1)
    made = generator(torch.randn(32, 4))

    critic_loss = judge(critic(real), torch.ones(32, 1)) + judge(critic(made), torch.zeros(32, 1))
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()

    generator_loss = judge(critic(made), torch.ones(32, 1))
    generator_optimizer.zero_grad()
    generator_loss.backward()
    generator_optimizer.step()
print(critic_loss.item(), generator_loss.item())
