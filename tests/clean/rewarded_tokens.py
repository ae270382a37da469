"""Tokens that a model has drawn itself, scored by a reward."""

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
prompt_len = 3
for _ in range(12):
    ids = torch.randint(0, 30, (8, prompt_len))
    with torch.no_grad():
        for _ in range(5):
            nxt = torch.multinomial(model(ids)[:, -1].softmax(-1), 1)
            ids = torch.cat([ids, nxt], 1)
    reward = (ids[:, prompt_len:] % 2 == 0).float().mean(1)
    logp = (
        F.log_softmax(model(ids)[:, :-1], -1)
        .gather(-1, ids[:, 1:, None])
        .squeeze(-1)[:, prompt_len - 1 :]
    )
    loss = -((reward - reward.mean())[:, None] * logp).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
