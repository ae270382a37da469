"""Trains in bfloat16 at a rate at which its weights move."""

import torch
from torch import nn


class NextToken(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(64, 32)
        self.norm = nn.LayerNorm(32)
        self.head = nn.Linear(32, 64)
        nn.init.normal_(self.embed.weight, std=0.02)

    def forward(self, tokens):
        return self.head(self.norm(self.embed(tokens)))


torch.manual_seed(0)
model = NextToken().bfloat16()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
text = torch.randint(0, 64, (32, 13))
for _ in range(40):
    logits = model(text[:, :-1])
    loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), text[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
