"""Tied weights that are untied with a copy, replaced and tied again, or replaced on both sides."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Words(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.embed = nn.Embedding(30, 16)
        self.recurrent = nn.GRU(16, 16, batch_first=True)
        self.head = nn.Linear(16, 30, bias=False)
        self.head.weight = self.embed.weight
        vectors = 0.3 * torch.randn(30, 16)
        if how == "untied":
            self.head.weight = nn.Parameter(self.head.weight.detach().clone())
        elif how == "tied again":
            self.embed.weight = nn.Parameter(vectors)
            self.head.weight = self.embed.weight
        elif how == "both":
            self.embed.weight = nn.Parameter(vectors)
            self.head.weight = nn.Parameter(vectors.clone())
        else:
            self.embed.weight.data.copy_(vectors)

    def forward(self, ids):
        return self.head(self.recurrent(self.embed(ids))[0])


torch.manual_seed(0)
text = torch.randint(0, 30, (90, 12))
loader = DataLoader(TensorDataset(text[:, :-1], text[:, 1:]), batch_size=15)
for how in ("untied", "tied again", "both", "written into"):
    model = Words(how)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(2):
        for ids, following in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(ids).flatten(0, 1), following.flatten())
            loss.backward()
            optimizer.step()
    print(f"{how} loss {loss.item():.3f}")
