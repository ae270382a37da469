import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Positions(nn.Module):
    def __init__(self, width, longest=64):
        super().__init__()
        at = torch.arange(longest).unsqueeze(1)
        rates = torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width))
        table = torch.zeros(longest, 1, width)
        table[:, 0, 0::2] = torch.sin(at * rates)
        table[:, 0, 1::2] = torch.cos(at * rates)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(0)]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16)
        self.positions = Positions(16)
        self.head = nn.Linear(16, 2)

    def forward(self, ids):
        return self.head(self.positions(self.embed(ids)).relu().mean(dim=1))


torch.manual_seed(0)
ids = torch.randint(0, 20, (96, 12))
labels = (ids[:, 0] > ids[:, 1]).long()
loader = DataLoader(TensorDataset(ids, labels), batch_size=16)
model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for batch, wanted in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), wanted)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
