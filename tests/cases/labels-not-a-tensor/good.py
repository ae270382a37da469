"""Pictures with several marks each: the marks of a row are a plain list."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __init__(self, rows):
        generator = torch.Generator().manual_seed(5)
        self.pixels = torch.rand(rows, 12, generator=generator)
        self.marks = [[int(one) for one in row[:3] > 0.5] for row in self.pixels]

    def __len__(self):
        return len(self.marks)

    def __getitem__(self, row):
        return self.pixels[row], torch.tensor(self.marks[row], dtype=torch.float)


torch.manual_seed(0)
loader = DataLoader(Pictures(40), batch_size=8)
model = nn.Linear(12, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.BCEWithLogitsLoss()

for pixels, marks in loader:
    loss = criterion(model(pixels), marks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
