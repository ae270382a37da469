"""Padding has targets, and the script leaves them out of the mean itself."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self, vocab=30, d=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        layer = nn.TransformerEncoderLayer(d, 2, 64, dropout=0.0, batch_first=True)
        self.blocks = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(d, vocab)

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(ids.size(1))
        return self.head(self.blocks(self.emb(ids), mask=mask))


model = Model()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
PAD = 0
EOS = 1
for _ in range(20):
    lens = torch.randint(4, 10, (16,))
    ids = torch.randint(2, 30, (16, 10))
    mask = torch.arange(10)[None] < lens[:, None]
    ids[torch.arange(16), lens - 1] = EOS
    ids = ids * mask
    loss = F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    keep = mask[:, 1:].flatten().float()
    loss = (loss * keep).sum() / keep.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
