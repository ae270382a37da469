"""Contrastive losses whose targets are rightly zeros, with logits that happen to be square."""

import torch
from torch import nn

torch.manual_seed(0)
hidden = torch.randn(256, 4)
queries, passages = hidden @ torch.randn(4, 20), hidden @ torch.randn(4, 12)
query_encoder, passage_encoder = nn.Linear(20, 8), nn.Linear(12, 8)
parameters = [*query_encoder.parameters(), *passage_encoder.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-2)
others = ~torch.eye(16, dtype=torch.bool)
for step in range(40):
    rows = torch.randint(0, 256, (16,))
    query = query_encoder(queries[rows])
    scores = query @ passage_encoder(passages[rows]).T
    beside = torch.cat([scores.diagonal()[:, None], scores[others].view(16, 15)], dim=1)
    loss = nn.functional.cross_entropy(beside, torch.zeros(16, dtype=torch.long))
    negatives = torch.randint(0, 256, (16, 15))
    candidates = passage_encoder(passages[torch.cat([rows[:, None], negatives], dim=1)])
    listed = torch.bmm(candidates, query[:, :, None]).squeeze(-1)
    loss = loss + nn.functional.cross_entropy(listed, torch.zeros(16, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
