"""Reads sequences of 20 steps with 40 features each, through a projection."""

import torch
from torch import nn

FEATURES = 40


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.projection = nn.Linear(FEATURES, 16)
        self.steps = nn.GRU(16, 16, batch_first=True)
        self.decide = nn.Linear(16, 3)

    def forward(self, sequences):
        read, _ = self.steps(self.projection(sequences))
        return self.decide(read[:, -1])


def main():
    torch.manual_seed(0)
    sequences, kinds = torch.randn(96, 20, 40), torch.randint(0, 3, (96,))
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for rows in torch.arange(96).split(8):
        loss = nn.functional.cross_entropy(model(sequences[rows]), kinds[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
