"""Reshapes that split and join neighbours: patches of steps whose sizes look transposed, heads of
attention, shuffled channels, pictures from the output of a linear layer."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS, FEATURES, PATCH, HEADS = 16, 4, 4, 2


class Patches(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(PATCH * FEATURES, 12)
        self.mix = nn.Linear(12, 36)
        self.grid = nn.Linear(12, 6 * 10)
        self.head = nn.Linear(12 + 60, 2)

    def forward(self, series):
        rows = series.shape[0]
        patches = self.embed(series.reshape(rows, STEPS // PATCH, PATCH * FEATURES))
        query, key, value = (
            part.view(rows, -1, HEADS, 6).transpose(1, 2)
            for part in self.mix(patches).chunk(3, dim=-1)
        )
        weights = (query @ key.transpose(-2, -1)).softmax(-1)
        joined = (weights @ value).transpose(1, 2).reshape(rows, -1, 12)
        shuffled = joined.view(rows, -1, 3, 4).transpose(2, 3).reshape(rows, -1, 12).mean(1)
        picture = self.grid(shuffled).view(rows, 6, 10)
        turned = picture.permute(0, 2, 1).reshape(rows, 60)
        return self.head(torch.cat([shuffled, turned], dim=1))


torch.manual_seed(0)
labels = torch.randint(0, 2, (90,))
series = torch.randn(90, STEPS, FEATURES) + labels[:, None, None]
loader = DataLoader(TensorDataset(series, labels), batch_size=10, shuffle=True)
model = Patches()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for batch, wanted in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), wanted)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f}")
