import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset, random_split


def noisy(x):
    return x + 0.5 * torch.randn_like(x)


class Points(Dataset):
    def __init__(self, transform=None):
        chance = torch.Generator().manual_seed(1)
        self.x = torch.randn(400, 6, generator=chance)
        self.y = (self.x[:, 0] > self.x[:, 1]).long()
        self.transform = transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, row):
        x = self.x[row]
        return (self.transform(x) if self.transform else x), self.y[row]


torch.manual_seed(0)
points = Points(noisy)
train_set, val_set = random_split(points, [320, 80])
val_set = Subset(Points(), val_set.indices)
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=80)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(5):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in val_loader)
    print(f"epoch {epoch}: validation accuracy {right / len(val_set):.3f}")
