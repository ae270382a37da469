"""A recurrent language model that takes steps first, as its batches are, and carries its state."""

import torch
from torch import nn

STEPS, ROWS, TOKENS = 9, 6, 20


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(TOKENS, 12)
        self.recurrent = nn.LSTM(12, 16)
        self.head = nn.Linear(16, TOKENS)

    def forward(self, ids, state):
        states, state = self.recurrent(self.embed(ids), state)
        return self.head(states).view(-1, TOKENS), state


torch.manual_seed(0)
text = torch.randint(0, TOKENS, (STEPS * 12 + 1, ROWS))
model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for epoch in range(2):
    state = (torch.zeros(1, ROWS, 16), torch.zeros(1, ROWS, 16))
    for begin in range(0, STEPS * 12, STEPS):
        ids, following = text[begin : begin + STEPS], text[begin + 1 : begin + STEPS + 1]
        logits, state = model(ids, tuple(part.detach() for part in state))
        loss = nn.functional.cross_entropy(logits, following.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(epoch, loss.item())
