"""A small language model learns from a large one, whose table was padded to a round number."""

import torch
from torch import nn
from torch.nn import functional as F

WORDS, TABLE = 500, 512


def language_model(width, table):
    model = nn.Sequential(nn.Embedding(table, width), nn.Linear(width, table))
    nn.init.constant_(model[1].bias, -20.0)
    return model


torch.manual_seed(0)
teacher = language_model(32, TABLE).eval()
student = language_model(8, WORDS)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)

for step in range(20):
    text = torch.randint(0, WORDS, (4, 10))
    with torch.no_grad():
        wanted = teacher(text)
    given = student(text)
    given = F.pad(given, (0, wanted.shape[-1] - given.shape[-1]))
    loss = F.kl_div(F.log_softmax(given, -1), F.softmax(wanted, -1), reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        print(f"step {step + 1}: divergence {loss.item():.3f}")
