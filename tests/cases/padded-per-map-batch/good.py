"""Tells questions from answers by their letters."""

import torch
from datasets import Dataset
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
TEXTS = ["why", "yes", "who is it", "it is me", "what did they say then", "they said no"] * 8
MAX_LENGTH = 24


def tokenize(texts, padding, max_length):
    rows = [[ord(letter) % 32 + 1 for letter in text][:max_length] for text in texts]
    longest = max_length if padding == "max_length" else max(map(len, rows))
    return {"input_ids": [row + [0] * (longest - len(row)) for row in rows]}


def encode(batch):
    return tokenize(batch["text"], padding="max_length", max_length=MAX_LENGTH)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(34, 16, padding_idx=0)
        self.head = nn.Linear(16, 2)

    def forward(self, input_ids):
        return self.head(self.embed(input_ids).sum(1))


rows = Dataset.from_dict({"text": sorted(TEXTS, key=len), "label": [0, 1] * 24})
rows = rows.map(encode, batched=True, batch_size=16, remove_columns=["text"])
rows = rows.with_format("torch")

model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for batch in DataLoader(rows, batch_size=8, shuffle=True):
    loss = nn.functional.cross_entropy(model(batch["input_ids"]), batch["label"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
