"""Episodes, and a bootstrap by numbers of rows."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
x = torch.randn(240, 8)
y = x[:, :3].argmax(1)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.Adam(model.parameters(), 0.01)


def step(b, t):
    loss = F.cross_entropy(model(b), t)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


class Episodes(Dataset):
    def __len__(self):
        return 30

    def __getitem__(self, i):
        c = [torch.where(y == k)[0] for k in range(3)]
        pick = torch.cat([r[torch.randint(len(r), (5,))] for r in c])
        return x[pick], y[pick]


class Bootstrap(Dataset):
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.index = torch.randint(0, 240, (240,), generator=torch.Generator().manual_seed(3))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[self.index[i]], self.y[self.index[i]]


for epoch in range(4):
    for b, t in DataLoader(Episodes(), batch_size=None):
        last = step(b, t)
    for b, t in DataLoader(Bootstrap(x, y), batch_size=16):
        last = step(b, t)
print(last)
