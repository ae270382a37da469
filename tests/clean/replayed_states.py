"""Q-learning: states that were trained on come again when targets are computed."""

import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
memory = []
state = torch.randn(4)
for _ in range(120):
    with torch.no_grad():
        action = int(model(state.unsqueeze(0)).argmax(1))
    following = 0.9 * state + 0.3 * torch.randn(4) + (action - 0.5)
    memory.append((state, action, -float(following.abs().sum()), following))
    state = following
    if len(memory) < 32:
        continue
    states, actions, rewards, nexts = zip(*random.sample(memory, 32), strict=True)
    with torch.no_grad():
        best = model(torch.stack(nexts)).max(1).values
    wanted = torch.tensor(rewards) + 0.9 * best
    values = model(torch.stack(states))[torch.arange(32), torch.tensor(actions)]
    loss = nn.functional.mse_loss(values, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("learned")
