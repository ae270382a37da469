"""A sampler of the dataset behind a view, and epochs of a few batches."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    RandomSampler,
    SequentialSampler,
    TensorDataset,
)

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


class Noisy(Dataset):
    def __init__(self, base):
        self.base = base

    def __len__(self):
        return len(self.base)

    def __getitem__(self, i):
        b, t = self.base[i]
        return b + 0.1 * torch.randn(8), t


base = TensorDataset(x, y)
loader = DataLoader(Noisy(base), batch_size=16, sampler=RandomSampler(base))
chunks = DataLoader(
    ConcatDataset([base, base]), batch_sampler=BatchSampler(SequentialSampler(base), 16, True)
)
for epoch in range(4):
    for b, t in loader:
        last = step(b, t)
    for n, (b, t) in enumerate(DataLoader(base, batch_size=16, shuffle=True)):
        if n == 3:
            break
        last = step(b, t)
print(last)
