"""A classifier with dropout, measured after each epoch."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, held_out = torch.randn(96, 8), torch.randn(48, 8)
y, expected = x[:, :4].argmax(1), held_out[:, :4].argmax(1)
train = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
valid = DataLoader(TensorDataset(held_out, expected), batch_size=16)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(8, 32), nn.Linear(32, 4)

    def forward(self, rows):
        hidden = F.dropout(F.relu(self.inner(rows)), 0.4)
        return self.outer(hidden)


model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(3):
    for batch, labels in train:
        loss = F.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum((model(batch).argmax(-1) == labels).sum().item() for batch, labels in valid)
    model.train()
    print(f"epoch {epoch} accuracy {right / len(held_out):.4f}")
