"""A collate function that puts its rows into another order, with their labels, and masks what it
pads."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(0)
rows = [(torch.randn(int(torch.randint(3, 12, (1,))), 5), n % 2) for n in range(64)]
rows = [(row + label, label) for row, label in rows]


class ByLength:
    def __call__(self, batch):
        batch.sort(key=lambda entry: len(entry[0]), reverse=True)
        lengths = torch.tensor([len(row) for row, _ in batch])
        labels = torch.tensor([label for _, label in batch])
        return pad_sequence([row for row, _ in batch], batch_first=True), lengths, labels


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(5, 12, batch_first=True)
        self.head = nn.Linear(12, 2)

    def forward(self, x, lengths):
        return self.head(self.rnn(pack_padded_sequence(x, lengths, batch_first=True))[1][-1])


model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for x, lengths, labels in DataLoader(rows, 8, shuffle=True, collate_fn=ByLength()):
        loss = nn.functional.cross_entropy(model(x, lengths), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
