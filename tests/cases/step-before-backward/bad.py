"""An actor that follows its critic; each has an optimizer of its own."""

import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)

for _ in range(6):
    states = torch.randn(32, 3)
    actions = actor(states)
    rewards = -(actions.detach() - states.sum(dim=1, keepdim=True)).abs()
    actor_loss = -critic(torch.cat([states, actions], dim=1)).mean()
    guesses = critic(torch.cat([states, actions.detach()], dim=1))
    critic_loss = nn.functional.mse_loss(guesses, rewards)

    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()

    actor_optimizer.zero_grad()
    actor_loss.backward()
    actor_optimizer.step()
print(critic_loss.item(), actor_loss.item())
