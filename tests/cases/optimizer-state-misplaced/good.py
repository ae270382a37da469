"""Training goes on with other learning rates; the optimizer's state is loaded."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Linear(50, 12)
        self.tags = nn.Linear(12, 5)

    def forward(self, ids):
        return self.tags(self.words(nn.functional.one_hot(ids, 50).float()))


def train(model, optimizer):
    for _ in range(4):
        ids = torch.randint(0, 50, (8, 10))
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), (ids % 5).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = Tagger()
groups = [{"params": model.words.parameters()}, {"params": model.tags.parameters()}]
optimizer = torch.optim.AdamW(groups, lr=1e-2)
print(f"loss {train(model, optimizer):.3f}")
saved = optimizer.state_dict()

groups = [
    {"params": model.words.parameters(), "lr": 1e-4},
    {"params": model.tags.parameters(), "lr": 1e-3},
]
optimizer = torch.optim.AdamW(groups)
optimizer.load_state_dict(saved)
print(f"loss {train(model, optimizer):.3f}")
