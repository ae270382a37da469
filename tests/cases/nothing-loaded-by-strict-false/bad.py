"""Pretrains an encoder inside a wrapper, and fine-tunes it with a new head."""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16))
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(0)
wrapped = nn.DataParallel(Encoder())
torch.save(wrapped.state_dict(), "pretrained.pt")

model = Encoder()
model.load_state_dict(torch.load("pretrained.pt"), strict=False)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(16, 8)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: loss {loss.item():.4f}")
