"""Tells the language of a name from its letters, by the last state of a recurrent layer."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LETTERS, LONGEST, LANGUAGES = 27, 7, 4


class NameReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(LETTERS, 8)
        self.rnn = nn.GRU(8, 16)
        self.language = nn.Linear(16, LANGUAGES)

    def forward(self, letters):
        _, last = self.rnn(self.embed(letters))
        return self.language(last[0])


def main():
    torch.manual_seed(0)
    names = torch.randint(0, LETTERS, (60, LONGEST))
    languages = torch.randint(0, LANGUAGES, (60,))
    model = NameReader()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for letters, language in DataLoader(TensorDataset(names, languages), batch_size=12):
        guessed = model(letters)
        loss = nn.functional.cross_entropy(guessed, language)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
