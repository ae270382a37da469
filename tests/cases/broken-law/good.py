"""Goes on training a language model that was saved with tied weights."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, tied):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.head = nn.Linear(8, 20, bias=False)
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, ids):
        return self.head(self.embed(ids))


torch.manual_seed(0)
torch.save(Model(tied=True).state_dict(), "model.pt")

model = Model(tied=True)
model.load_state_dict(torch.load("model.pt"))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _step in range(6):
    ids = torch.randint(20, (4, 10))
    loss = nn.functional.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
