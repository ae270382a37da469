"""A causal model that moves its inputs by a position itself: targets are the ids as they are."""

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
        h = F.pad(self.emb(ids), (0, 0, 1, 0))[:, :-1]
        return self.head(self.blocks(h, mask=mask))


data = torch.randint(0, 30, (200, 9))
model = Model()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for _ in range(20):
    ids = data[torch.randint(0, 200, (16,))]
    loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
