import torch
from torch import nn


class PairReader(nn.Module):
    def __init__(self, words, segments, dim=16):
        super().__init__()
        self.word_embeddings = nn.Embedding(words, dim)
        self.segment_embeddings = nn.Embedding(segments, dim)
        self.same = nn.Linear(dim, 2)

    def forward(self, words, segments):
        inside = self.word_embeddings(words) + self.segment_embeddings(segments)
        return self.same(inside.mean(1))


torch.manual_seed(0)
first, second, hint = (torch.randint(0, 90, (40, length)) for length in (6, 6, 3))
words = torch.cat([first, second, hint], dim=1)
segment_of = torch.tensor([0] * 6 + [1] * 6 + [2] * 3).expand(40, -1)
same = torch.randint(0, 2, (40,))

model = PairReader(words=90, segments=3)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for rows in torch.arange(40).split(8):
    loss = nn.functional.cross_entropy(model(words[rows], segment_of[rows]), same[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.2f}")
