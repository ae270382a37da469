"""Learns which of four levers pays, by policy gradient."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
PAYS = torch.tensor([0.1, 0.2, 0.9, 0.3])
policy = nn.Linear(3, 4)
optimizer = torch.optim.Adam(policy.parameters(), lr=0.05)

for _ in range(60):
    state = torch.randn(64, 3)
    choice = Categorical(logits=policy(state))
    lever = choice.sample()
    pay = (torch.rand(64) < PAYS[lever]).float()
    lever_again = choice.sample()
    loss = -(choice.log_prob(lever_again) * (pay - pay.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"mean pay {PAYS[policy(torch.randn(500, 3)).argmax(1)].mean():.2f}")
