import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(1)


class Signals(Dataset):
    def __init__(self, n):
        self.x = torch.randn(n, 12) * torch.linspace(1, 30, 12) + 5
        self.y = (self.x[:, :3].sum(1) > 15).long()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"x": self.x[i], "y": self.y[i]}


MEAN = torch.full((12,), 5.0)
STD = torch.linspace(1, 30, 12)


def gather(items):
    x = torch.stack([item["x"] for item in items])
    x = (x - MEAN) / STD
    return x, torch.stack([item["y"] for item in items])


model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.SGD(model.parameters(), 0.1)
train = DataLoader(Signals(128), batch_size=16, shuffle=True, collate_fn=gather)
val = DataLoader(Signals(64), batch_size=16, collate_fn=gather)
for epoch in range(2):
    model.train()
    for x, y in train:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in val)
    print(epoch, loss.item(), right / 64)
