"""A tagger of words: a tag for each place of a sentence, places to fill up not counted."""

import torch
from torch import nn

WORDS, TAGS, NONE = 40, 6, -100


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 12)
        self.read = nn.GRU(12, 12, batch_first=True)
        self.name = nn.Linear(12, TAGS)

    def forward(self, words):
        states, _ = self.read(self.embed(words))
        return self.name(states)


def sentences(count):
    words = torch.randint(0, WORDS, (count, 9))
    tags = words % TAGS
    tags[:, 7:] = NONE
    return words, tags


torch.manual_seed(0)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss(ignore_index=NONE)

for _step in range(6):
    words, tags = sentences(4)
    scores = model(words)
    loss = criterion(scores.transpose(1, 2), tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
