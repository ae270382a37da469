"""Marks the kind of every word in sentences of different lengths."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence


class Tagger(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.words = nn.Embedding(50, width, padding_idx=0)
        self.memory = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.kinds = nn.Linear(2 * width, 5)

    def forward(self, words):
        return self.kinds(self.memory(self.words(words))[0])


def main():
    torch.manual_seed(0)
    sentences = [torch.randint(1, 50, (4 + number % 11,)) for number in range(240)]
    model = Tagger()
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(2):
        for rows in torch.randperm(240).split(24):
            chosen = [sentences[row] for row in rows.tolist()]
            words = pad_sequence(chosen, batch_first=True)
            kinds = pad_sequence([1 + sentence % 4 for sentence in chosen], batch_first=True)
            loss = criterion(model(words).flatten(0, 1), kinds.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
