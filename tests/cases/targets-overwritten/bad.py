"""Fills gaps in melodies: some notes are hidden, and the model names them."""

import torch
from torch import nn
from torch.utils.data import DataLoader

HIDDEN, NOTES, LENGTH = 0, 12, 8


def with_gaps(melodies):
    notes = torch.stack(melodies)
    gaps = torch.rand(notes.shape) < 0.25
    notes[gaps] = HIDDEN
    targets = torch.where(gaps, notes, -100)
    return notes, targets


class Filler(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(NOTES + 1, 16)
        self.layers = nn.GRU(16, 16, batch_first=True, bidirectional=True)
        self.head = nn.Linear(32, NOTES + 1)

    def forward(self, notes):
        return self.head(self.layers(self.table(notes))[0])


torch.manual_seed(0)
starts = torch.randint(NOTES, (320, 1))
scales = list((starts + torch.arange(LENGTH)) % NOTES + 1)
loader = DataLoader(scales, batch_size=16, shuffle=True, collate_fn=with_gaps)
model = Filler()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(2):
    for notes, targets in loader:
        logits = model(notes)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.3f}")
