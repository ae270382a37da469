"""A sequence to sequence model whose decoder is given the targets, moved by a position."""

import random

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
PAD, BOS, EOS = 0, 1, 2


class S2S(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16, padding_idx=PAD)
        self.enc = nn.GRU(16, 32, batch_first=True)
        self.dec = nn.GRU(16, 32, batch_first=True)
        self.head = nn.Linear(32, 30)

    def forward(self, src, tgt):
        _, h = self.enc(self.emb(src))
        return self.head(self.dec(self.emb(tgt), h)[0])


model = S2S()
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
crit = nn.CrossEntropyLoss(ignore_index=PAD)


def pad(rows):
    w = max(map(len, rows))
    return torch.tensor([r + [PAD] * (w - len(r)) for r in rows])


for _ in range(30):
    rows = [[random.randrange(3, 30) for _ in range(random.randint(3, 9))] for _ in range(12)]
    src = pad(rows)
    tgt = pad([[BOS] + r[::-1] + [EOS] for r in rows])
    out = model(src, tgt[:, :-1])
    loss = crit(out.reshape(-1, 30), tgt[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
