"""Reads a long melody in pieces; the memory of the LSTM goes on from piece to piece."""

import torch
from torch import nn

NOTES, PIECE = 24, 12


class Melody(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(NOTES, 16)
        self.lstm = nn.LSTM(16, 32, batch_first=True)
        self.head = nn.Linear(32, NOTES)

    def forward(self, notes, memory):
        hidden, memory = self.lstm(self.embed(notes), memory)
        return self.head(hidden), memory


def train(model: Melody, melodies: torch.Tensor) -> float:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    memory = None
    for start in range(0, melodies.shape[1] - PIECE, PIECE):
        notes = melodies[:, start : start + PIECE]
        following = melodies[:, start + 1 : start + PIECE + 1]
        logits, memory = model(notes, memory)
        memory = tuple(state.detach() for state in memory)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
print(train(Melody(), torch.randint(0, NOTES, (8, 10 * PIECE + 1))))
