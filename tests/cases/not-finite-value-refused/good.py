"""REINFORCE on a coin that is heads more often than not; episodes have different lengths."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
lengths = [6, 4, 5, 3, 7, 1, 4, 6, 5, 4]


def advantages(rewards):
    returns = torch.tensor(rewards).flip(0).cumsum(0).flip(0)
    return (returns - returns.mean()) / (returns.std(correction=0) + 1e-8)


for episode, length in enumerate(lengths):
    states = torch.randn(length, 2)
    choice = Categorical(logits=policy(states))
    actions = choice.sample()
    rewards = [1.0 if action == 1 else 0.0 for action in actions.tolist()]
    loss = -(choice.log_prob(actions) * advantages(rewards)).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
    print(f"episode {episode}: return {sum(rewards):.0f} of {length}")
