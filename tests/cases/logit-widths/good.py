"""A small model learns from a large one, whose table of words was padded to a round number."""

import torch
from torch import nn
from torch.nn.functional import kl_div, log_softmax, softmax

WORDS = 60


def language_model(width, table):
    return nn.Sequential(nn.Embedding(table, width), nn.Linear(width, table))


torch.manual_seed(0)
teacher = language_model(32, 64)
student = language_model(8, WORDS)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)

for _step in range(5):
    text = torch.randint(0, WORDS, (4, 10))
    with torch.no_grad():
        wanted = teacher(text)[..., :WORDS]
    given = student(text)
    loss = kl_div(log_softmax(given, -1), softmax(wanted, -1), reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
