"""Scores the answers of a small language model; questions have five tokens."""

import torch
from torch import nn

TOKENS = 40


class Answering(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, width)
        self.memory = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, TOKENS)

    def forward(self, ids):
        return self.head(self.memory(self.tokens(ids))[0])


def answer_loss(logits, ids, question_len):
    scores = torch.log_softmax(logits[:, :-1], dim=-1)
    scores = scores.gather(2, ids[:, 1:].unsqueeze(2)).squeeze(2)
    return -scores[:, question_len - 1 :].mean()


def main():
    torch.manual_seed(0)
    question_len = 5
    questions = torch.randint(2, TOKENS, (240, question_len))
    answers = torch.stack([questions[:, 0], questions[:, 1], questions[:, 2]], dim=1)
    rows = torch.cat([questions, answers], dim=1)
    model = Answering()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        for part in rows[torch.randperm(240)].split(24):
            loss = answer_loss(model(part), part, question_len)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
