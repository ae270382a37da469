"""Normalises returns only where there are several, and stops at a loss that is not finite."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)

for length in (6, 4, 1, 3, 7, 1, 4, 6):
    choice = Categorical(logits=policy(torch.randn(length, 2)))
    actions = choice.sample()
    returns = actions.float().flip(0).cumsum(0).flip(0)
    scale = returns.std() if len(returns) > 1 else torch.ones(())
    loss = -(choice.log_prob(actions) * (returns - returns.mean()) / (scale + 1e-8)).mean()
    if not torch.isfinite(loss):
        raise FloatingPointError("the loss is not finite")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
