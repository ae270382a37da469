"""Marks the peaks in heartbeats of different lengths, all of them kept in rows of sixteen."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

BEATS = 16


class Marker(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 12, batch_first=True)
        self.mark = nn.Linear(12, 1)

    def forward(self, beats, lengths):
        packed = pack_padded_sequence(beats, lengths, batch_first=True, enforce_sorted=False)
        states, _ = self.rnn(packed)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=beats.size(1))
        return self.mark(states).squeeze(-1)


def main():
    torch.manual_seed(0)
    lengths = torch.tensor([16, 9, 12, 7, 16, 5, 11, 14, 13, 8, 6, 10])
    inside = torch.arange(BEATS) < lengths[:, None]
    beats = torch.randn(12, BEATS, 2) * inside[..., None]
    peaks = (beats.sum(-1) > 1).float()
    model = Marker()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for rows in torch.arange(12).split(4):
        marks = model(beats[rows], lengths[rows])
        weight = inside[rows].float()
        targets = peaks[rows]
        loss = nn.functional.binary_cross_entropy_with_logits(marks, targets, weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
