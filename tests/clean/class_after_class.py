"""Classes are learned one after the other on purpose; then episodes of one class each are drawn."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset

torch.manual_seed(0)
labels = torch.arange(4).repeat_interleave(40)
x = torch.randn(4, 8)[labels] + 0.3 * torch.randn(160, 8)


class Episodes(Sampler):
    def __iter__(self):
        for number in torch.randint(0, 4, (12,)).tolist():
            yield (40 * number + torch.randperm(40)[:10]).tolist()

    def __len__(self):
        return 12


model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def learn(features, targets):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(features), targets)
    loss.backward()
    optimizer.step()
    return loss.item()


for task in range(4):
    mine = labels == task
    for features, targets in zip(x[mine].split(10), labels[mine].split(10), strict=True):
        loss = learn(features, targets)
for features, targets in DataLoader(TensorDataset(x, labels), batch_sampler=Episodes()):
    loss = learn(features, targets)
print(f"{loss:.2f}")
