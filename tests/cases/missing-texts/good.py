"""Classifies letters to the editor by their words; the table comes from a spreadsheet."""

import io

import pandas as pd
import torch
from torch import nn

TOPICS = {"traffic": "bus late bus full", "parks": "trees cut trees gone"}


def spreadsheet():
    lines = ["topic,letter"]
    for number in range(48):
        topic = ("traffic", "parks")[number % 2]
        lines.append(f"{topic},{'' if number % 20 == 13 else TOPICS[topic]}")
    return io.StringIO("\n".join(lines))


def features(letter, vocabulary):
    words = letter.lower().split()
    return torch.tensor([float(words.count(word)) for word in vocabulary])


def train(letters):
    vocabulary = sorted({word for text in TOPICS.values() for word in text.split()})
    model = nn.Linear(len(vocabulary), 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for start in range(0, len(letters), 8):
        chunk = letters.iloc[start : start + 8]
        inputs = torch.stack([features(letter, vocabulary) for letter in chunk["letter"]])
        targets = torch.tensor([list(TOPICS).index(topic) for topic in chunk["topic"]])
        loss = nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


torch.manual_seed(0)
letters = pd.read_csv(spreadsheet()).dropna(subset=["letter"])
train(letters)
