"""A language model whose output layer is its embedding, with a list of its blocks beside them."""

import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 24)
        self.blocks = nn.ModuleList([nn.Linear(24, 24) for _ in range(2)])
        self.head = nn.Linear(24, 40, bias=False)
        self.head.weight = self.embed.weight
        self.order = [*self.blocks]

    def forward(self, tokens):
        hidden = self.embed(tokens)
        for block in self.order:
            hidden = torch.tanh(block(hidden))
        return self.head(hidden)


torch.manual_seed(0)
model = Tied()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
text = torch.randint(0, 40, (16, 9))
for _ in range(20):
    logits = model(text[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
