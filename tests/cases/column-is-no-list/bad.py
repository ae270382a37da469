"""Counts letters of words from two lists, and learns from which list a word is."""

import torch
from datasets import Dataset
from torch import nn

rivers = Dataset.from_dict({"word": ["seine", "rhine", "rhone", "elbe"] * 4})
cities = Dataset.from_dict({"word": ["lyon", "basel", "ulm"] * 4})


def letters(word):
    return [float(word.count(letter)) for letter in "abeilmnoru"]


torch.manual_seed(0)
words = rivers["word"] + cities["word"]
inputs = torch.tensor([letters(word) for word in words])
targets = torch.tensor([0] * len(rivers) + [1] * len(cities))
model = nn.Linear(10, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(10):
    loss = nn.functional.cross_entropy(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
# needs datasets>=4
