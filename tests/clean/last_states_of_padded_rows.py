"""Padded rows of which a single vector is read: a class token that is joined before them, the last
state of packed rows, and the last position of rows that are padded at their beginning."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader


class Reader(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.how = how
        self.embed = nn.Embedding(40, 16, padding_idx=0)
        self.recurrent = nn.GRU(16, 16, batch_first=True)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.first = nn.Parameter(torch.zeros(1, 1, 16))
        self.head = nn.Linear(16, 2)

    def forward(self, ids, lengths):
        x = self.embed(ids)
        if self.how == "packed":
            rows = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            return self.head(self.recurrent(rows)[1][-1])
        if self.how == "padded at the beginning":
            return self.head(self.recurrent(x)[0][:, -1])
        x = torch.cat([self.first.expand(len(x), -1, -1), x], dim=1)
        hidden = nn.functional.pad(ids == 0, (1, 0), value=False)
        return self.head(self.encoder(x, src_key_padding_mask=hidden)[:, 0])


def collate(rows):
    return pad_sequence(rows, batch_first=True), torch.tensor([len(row) for row in rows])


torch.manual_seed(0)
rows = [torch.randint(1, 40, (int(torch.randint(4, 30, ())),)) for _ in range(80)]
for how in ("padded at the beginning", "class token", "packed"):
    model = Reader(how)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(3):
        for ids, lengths in DataLoader(rows, batch_size=8, shuffle=True, collate_fn=collate):
            labels = (ids[:, 0] < 20).long()
            if how == "padded at the beginning":
                ids = ids.flip(1)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(ids, lengths), labels)
            loss.backward()
            optimizer.step()
        print(how, epoch, loss.item())
