"""Reads melodies in pieces with an LSTM. It crashes, and the message suggests what would not help:

surefit run examples/carried_memory.py
"""

import torch
from torch import nn

NOTES, PIECE = 24, 12


class Melody(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(NOTES, 16)
        self.lstm = nn.LSTM(16, 32, batch_first=True)
        self.head = nn.Linear(32, NOTES)

    def forward(self, notes, memory):
        hidden, memory = self.lstm(self.embed(notes), memory)
        return self.head(hidden), memory


def train(model, melodies):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    memory = None
    for start in range(0, melodies.shape[1] - PIECE, PIECE):
        notes = melodies[:, start : start + PIECE]
        following = melodies[:, start + 1 : start + PIECE + 1]
        logits, memory = model(notes, memory)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"piece {start // PIECE}  loss {loss.item():.3f}")


torch.manual_seed(0)
train(Melody(), torch.randint(0, NOTES, (8, 10 * PIECE + 1)))
