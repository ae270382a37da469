"""Points a sentence at the words of another one: attention written out by hand."""

import torch
from torch import nn

WORDS, WIDTH = 80, 24


class Pointer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.ask = nn.Linear(WIDTH, WIDTH)
        self.answer = nn.Linear(WIDTH, WIDTH)

    def forward(self, question, text):
        asked = self.ask(self.words(question))
        answers = self.answer(self.words(text))
        scores = asked @ answers
        return scores.mean(1)


def main():
    torch.manual_seed(0)
    model = Pointer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(4):
        question, text = torch.randint(0, WORDS, (8, 5)), torch.randint(0, WORDS, (8, 11))
        loss = nn.functional.cross_entropy(model(question, text), torch.randint(0, 11, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
