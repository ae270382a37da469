"""Names that nothing reads, for good reasons: ids, a time limit, weights of single rows."""

import random

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

GAMMA = 0.9


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        return self.body(x if mask is None else x * mask)


torch.manual_seed(0)
random.seed(0)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
rows, labels = torch.randn(64, 4), torch.randint(0, 2, (64,))
sample_weights = torch.ones(64)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(TensorDataset(torch.arange(64), rows, labels), batch_size=16, shuffle=True)


def classify() -> None:
    for ids, x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def learn(memory: list[tuple[torch.Tensor, int, float, torch.Tensor, bool]]) -> None:
    """A task without an end: episodes are only cut off, and values go on."""
    columns = list(zip(*random.sample(memory, 16), strict=True))
    states, actions, rewards, nexts, truncated = columns  # noqa: RUF059
    with torch.no_grad():
        best = model(torch.stack(nexts)).max(1).values
    values = model(torch.stack(states))[torch.arange(16), torch.tensor(actions)]
    loss = nn.functional.mse_loss(values, torch.tensor(rewards) + GAMMA * best)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def learn_with_ends(memory: list[tuple[torch.Tensor, int, float, torch.Tensor, bool]]) -> None:
    """The next values of ended episodes are set to zero before the target is computed."""
    states, actions, rewards, nexts, dones = zip(*random.sample(memory, 16), strict=True)
    with torch.no_grad():
        best = model(torch.stack(nexts)).max(1).values
        best[torch.tensor(dones)] = 0.0
    values = model(torch.stack(states))[torch.arange(16), torch.tensor(actions)]
    loss = nn.functional.mse_loss(values, torch.tensor(rewards) + GAMMA * best)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


memory = [
    (torch.randn(4), random.randrange(2), random.random(), torch.randn(4), random.random() < 0.1)
    for _ in range(64)
]
classify()
for _ in range(5):
    learn(memory)
    learn_with_ends(memory)
print("learned")
