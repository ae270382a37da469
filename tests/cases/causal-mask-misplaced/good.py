import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.queries, self.keys, self.values = (nn.Linear(width, width) for _ in range(3))
        self.register_buffer("hidden", torch.ones(15, 15).triu(diagonal=1).bool())

    def forward(self, x):
        q, k, v = self.queries(x), self.keys(x), self.values(x)
        scores = q @ k.transpose(-2, -1) / 4
        weights = scores.masked_fill(self.hidden, float("-inf")).softmax(dim=-1)
        return x + weights @ v


class Characters(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 16)
        self.places = nn.Embedding(15, 16)
        self.block = Block(16)
        self.head = nn.Linear(16, 12)

    def forward(self, ids):
        return self.head(self.block(self.embed(ids) + self.places.weight[: ids.size(1)]))


torch.manual_seed(0)
text = torch.randint(0, 12, (90, 16))
loader = DataLoader(TensorDataset(text[:, :-1], text[:, 1:]), batch_size=9)
model = Characters()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for ids, following in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(ids).flatten(0, 1), following.flatten())
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
