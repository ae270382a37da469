import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_model, save_model
from torch import nn


class NextToken(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.mix = nn.Linear(16, 16)
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(torch.tanh(self.mix(self.embed(tokens))))


torch.manual_seed(0)
model = NextToken()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(20):
    tokens = torch.randint(0, 19, (32,))
    loss = nn.functional.cross_entropy(model(tokens), tokens + 1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.safetensors"
    save_model(model, path)
    load_model(model, path)
