"""Fine-tunes a next-token model at a small learning rate."""

import torch
from torch import nn


class NextToken(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.mix = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, tokens)

    def forward(self, ids):
        return self.head(self.mix(self.embed(ids))[0])


torch.manual_seed(0)
text = torch.randint(0, 64, (32, 17))
model = NextToken(64, 48)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

for step in range(60):
    logits = model(text[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step + 1}: loss {loss.item():.4f}")
