"""Clips the ratio of two policies: beyond the bounds some elements get no gradient, by design."""

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Linear(6, 4)
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-2)
states, actions = torch.randn(128, 6), torch.randint(0, 4, (128,))
advantages = torch.randn(128)
with torch.no_grad():
    old = policy(states).log_softmax(-1).gather(1, actions[:, None])[:, 0]
for _ in range(12):
    new = policy(states).log_softmax(-1).gather(1, actions[:, None])[:, 0]
    ratio = (new - old).exp()
    clipped = torch.clamp(ratio, 0.8, 1.2)
    loss = -torch.min(ratio * advantages, clipped * advantages).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
    optimizer.step()
print(f"loss {loss.item():.4f}")
