"""Questions and passages: each has a mask of its own."""

import torch
from torch import nn

torch.manual_seed(0)


def padded(rows):
    width = max(map(len, rows))
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


def collate(pairs):
    questions, passages = zip(*pairs, strict=True)
    question_ids, passage_ids = padded(questions), padded(passages)
    return {
        "questions": (question_ids, (question_ids != 0).float()),
        "passages": (passage_ids, (passage_ids != 0).float()),
    }


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)

    def forward(self, ids, mask):
        states = self.embed(ids)
        weight = mask.unsqueeze(-1)
        return (states * weight).sum(1) / weight.sum(1)


pairs = [([1 + i % 7] * (3 + i % 3), [1 + i % 40] * (10 + i % 5)) for i in range(32)]
loader = torch.utils.data.DataLoader(pairs, batch_size=8, collate_fn=collate)
encoder = Encoder()
optimizer = torch.optim.Adam(encoder.parameters())
for batch in loader:
    scores = encoder(*batch["questions"]) @ encoder(*batch["passages"]).T
    loss = nn.functional.cross_entropy(scores, torch.arange(len(scores)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
