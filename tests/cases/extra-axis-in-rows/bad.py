"""Sorts short reviews into good and bad ones."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from transformers import AutoTokenizer

from surefit.embedded import MODEL

torch.manual_seed(0)
LENGTH = 12
REVIEWS = [
    ("great fine warm", 1),
    ("dull slow", 0),
    ("warm great", 1),
    ("cold dull slow dull", 0),
] * 8

tokenizer = AutoTokenizer.from_pretrained(MODEL)


class Reviews(Dataset):
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __len__(self):
        return len(REVIEWS)

    def __getitem__(self, index):
        text, label = REVIEWS[index]
        encoded = self.tokenizer(text, padding="max_length", max_length=LENGTH, return_tensors="pt")
        return {"input_ids": encoded["input_ids"], "label": label}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(len(tokenizer), 16)
        self.places = nn.Parameter(torch.zeros(LENGTH, 16))
        self.head = nn.Linear(16, 2)

    def forward(self, input_ids):
        _rows, length = input_ids.shape
        return self.head((self.embed(input_ids) + self.places[:length]).mean(1))


model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for batch in DataLoader(Reviews(tokenizer), batch_size=8, shuffle=True):
    loss = nn.functional.cross_entropy(model(batch["input_ids"]), batch["label"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
