"""Two towers: every row is compared with every other of its batch, on purpose."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.texts, self.pictures = nn.Linear(12, 8), nn.Linear(20, 8)

    def forward(self, texts, pictures):
        one = F.normalize(self.texts(texts), dim=-1)
        other = F.normalize(self.pictures(pictures), dim=-1)
        logits = one @ other.t() / 0.1
        return logits, torch.logsumexp(logits, dim=1) - logits.diagonal()


torch.manual_seed(0)
meaning = torch.randn(96, 6)
texts, pictures = meaning @ torch.randn(6, 12), meaning @ torch.randn(6, 20)
model = Towers()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for batch in DataLoader(TensorDataset(texts, pictures), batch_size=16, shuffle=True):
        optimizer.zero_grad()
        _, losses = model(*batch)
        losses.mean().backward()
        optimizer.step()
    print(epoch, losses.mean().item())
