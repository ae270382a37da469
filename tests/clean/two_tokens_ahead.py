"""Two heads of one model: the next token, and the one after it."""

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


data = torch.randint(0, 30, (200, 12))
model = Model()
second = nn.Linear(30, 30)
optimizer = torch.optim.Adam([*model.parameters(), *second.parameters()], 1e-3)
for _ in range(20):
    ids = data[torch.randint(0, 200, (16,))]
    logits = model(ids)
    one = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    two = F.cross_entropy(second(logits)[:, :-2].flatten(0, 1), ids[:, 2:].flatten())
    loss = one + 0.5 * two
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
