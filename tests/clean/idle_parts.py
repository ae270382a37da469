"""Parts that get no gradient on purpose: an unused head, a target network, an idle expert."""

import copy

import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 16)
        self.experts = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))
        self.head, self.later = nn.Linear(16, 1), nn.Linear(16, 2)
        self.target = copy.deepcopy(self.body)

    def forward(self, x):
        hidden = self.experts[0](torch.relu(self.body(x)))
        with torch.no_grad():
            wanted = self.target(x)
        return self.head(hidden), self.later(hidden), (hidden - wanted).square().mean()


x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(24):
    answer, _, distance = model(x)
    loss = nn.functional.mse_loss(answer, y) + 0.01 * distance
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(model.target.parameters(), model.body.parameters(), strict=True):
            slow.lerp_(fast, 0.1)
print(f"loss {loss.item():.4f}")
