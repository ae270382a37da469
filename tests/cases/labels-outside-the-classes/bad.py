"""Ratings of one to five stars, used as classes as they are."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Ratings(Dataset):
    def __init__(self, rows):
        generator = torch.Generator().manual_seed(11)
        self.stars = torch.randint(1, 6, (rows,), generator=generator)
        noise = torch.randn(rows, 6, generator=generator)
        self.words = noise + self.stars[:, None]

    def __len__(self):
        return len(self.stars)

    def __getitem__(self, row):
        return {"words": self.words[row], "stars": self.stars[row]}


torch.manual_seed(0)
loader = DataLoader(Ratings(120), batch_size=20, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()

for _epoch in range(2):
    for batch in loader:
        loss = criterion(model(batch["words"]), batch["stars"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.3f}")
