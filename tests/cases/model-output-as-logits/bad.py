"""A reader that gives its scores and what it looked at, and a loss of its scores."""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.weigh = nn.Linear(16, 1)
        self.judge = nn.Linear(16, 3)

    def forward(self, words):
        states = self.embed(words)
        weights = self.weigh(states).softmax(1)
        return self.judge((weights * states).sum(1)), weights


torch.manual_seed(0)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

for _step in range(5):
    words = torch.randint(0, 50, (8, 12))
    output = model(words)
    loss = criterion(output, words[:, 0] % 3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
