"""Trains a next-word model by hand, and measures its loss on held-out rows after every epoch."""

import torch
from torch import nn
from torch.nn import functional as F

WORDS = 50


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 16)
        self.head = nn.Linear(16, WORDS)

    def forward(self, tokens):
        return self.head(self.embed(tokens))


def next_word_loss(logits, labels):
    shift_logits = logits[:, :-1].contiguous()
    shift_labels = labels[:, 1:]
    return F.cross_entropy(shift_logits.view(-1, WORDS), shift_labels.view(-1))


def main():
    torch.manual_seed(0)
    tokens = torch.randint(0, WORDS, (12, 24))
    train, held_out = tokens[:8], tokens[8:]
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        model.train()
        for batch in train.split(1):
            loss = next_word_loss(model(batch), batch)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            losses = [next_word_loss(model(batch), batch) for batch in held_out.split(2)]
        print(f"epoch {epoch} held-out loss {torch.stack(losses).mean():.4f}")


main()
