"""A classifier of seeds: the label of each row is read with its column."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Seeds(Dataset):
    def __init__(self, rows):
        generator = torch.Generator().manual_seed(7)
        self.table = torch.randn(rows, 5, generator=generator)
        self.kinds = torch.randint(0, 3, (rows, 1), generator=generator)

    def __len__(self):
        return len(self.table)

    def __getitem__(self, row):
        return self.table[row], self.kinds[row].squeeze(0)


def accuracy(model, loader):
    hits = [(model(x).argmax(1) == y.flatten()).float().mean() for x, y in loader]
    return torch.stack(hits).mean().item()


torch.manual_seed(0)
loader = DataLoader(Seeds(60), batch_size=12, shuffle=True)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

for _epoch in range(2):
    for x, kinds in loader:
        loss = criterion(model(x), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"accuracy {accuracy(model, loader):.2f}")
