"""Padded rows: attention that masks padding, a recurrent layer that runs over it, as taggers do."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(40, 16, padding_idx=0)
        self.recurrent = nn.GRU(16, 8, batch_first=True, bidirectional=True)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.head = nn.Linear(16, 4)

    def forward(self, ids, mask):
        x = self.embed(ids)
        attended, _ = self.attention(x, x, x, key_padding_mask=~mask, need_weights=False)
        states, _ = self.recurrent(x + attended)
        return self.head(states)


def collate(rows):
    ids = pad_sequence(rows, batch_first=True)
    return ids, ids != 0, (ids % 4).masked_fill(ids == 0, -100)


torch.manual_seed(0)
rows = [torch.randint(1, 40, (int(torch.randint(4, 12, ())),)) for _ in range(80)]
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for ids, mask, labels in DataLoader(rows, batch_size=8, shuffle=True, collate_fn=collate):
        optimizer.zero_grad()
        logits = model(ids, mask)
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
