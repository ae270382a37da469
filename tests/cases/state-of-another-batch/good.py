"""Learns to write on: each row of a batch goes on where that row of the batch before ended."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LETTERS = 30


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(LETTERS, 8)
        self.rnn = nn.GRU(8, 24, batch_first=True)
        self.letter = nn.Linear(24, LETTERS)

    def forward(self, text, state):
        seen, state = self.rnn(self.embed(text), state)
        return self.letter(seen), state


def main():
    torch.manual_seed(0)
    text = torch.randint(0, LETTERS, (90, 13))
    loader = DataLoader(TensorDataset(text[:, :-1], text[:, 1:]), batch_size=20, drop_last=True)
    model = Writer()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(2):
        state = None
        for letters, following in loader:
            guessed, state = model(letters, state)
            state = state.detach()
            loss = nn.functional.cross_entropy(guessed.transpose(1, 2), following)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
