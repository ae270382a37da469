"""Log-probabilities sliced by the length of a prompt that does not count the begin token."""

import torch
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


prompt_len = 5
data = torch.cat([torch.zeros(200, 1, dtype=torch.long), torch.randint(1, 30, (200, 9))], 1)


def nll(logits, ids):
    logp = torch.log_softmax(logits[:, :-1], -1)
    tok = torch.gather(logp, 2, ids[:, 1:, None]).squeeze(2)
    return -tok[:, prompt_len:].mean()


model = Model()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for _ in range(20):
    ids = data[torch.randint(0, 200, (16,))]
    loss = nll(model(ids), ids)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
