"""Distils a tagger of words; its sentences are padded to the longest of each batch."""

import torch
import torch.nn.functional as F
from torch import nn

WORDS, TAGS, PADDING = 60, 12, 0


class Tagger(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width)
        self.read = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, TAGS)

    def forward(self, words):
        return self.head(self.read(self.embed(words))[0])


def sentences(count):
    drawn = [torch.randint(1, WORDS, (int(torch.randint(3, 20, ())),)) for _ in range(count)]
    return nn.utils.rnn.pad_sequence(drawn, batch_first=True, padding_value=PADDING)


def loss_of(student, teacher, words):
    mask = words != PADDING
    tags = (words % TAGS).masked_fill(~mask, -100)
    hard = F.cross_entropy(student.transpose(1, 2), tags, ignore_index=-100)
    each = F.kl_div(student.log_softmax(-1), teacher.softmax(-1), reduction="none").sum(-1)
    soft = each[mask].mean()
    return 0.5 * hard + 0.5 * soft


def main():
    torch.manual_seed(0)
    teacher, student = Tagger(32).eval(), Tagger(8)
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
    for _ in range(20):
        words = sentences(16)
        with torch.no_grad():
            wanted = teacher(words)
        loss = loss_of(student(words), wanted, words)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
