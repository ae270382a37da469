"""A small tagger learns from the logits of a large one, which is frozen."""

import torch
from torch import nn
from torch.nn import functional as F

WORDS, TAGS, TEMPERATURE = 80, 12, 2.0


def tagger(width):
    return nn.Sequential(
        nn.Embedding(WORDS, width),
        nn.Dropout(0.1),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Dropout(0.3),
        nn.Linear(width, TAGS),
    )


torch.manual_seed(0)
teacher = tagger(64)
teacher.eval().requires_grad_(False)
student = tagger(16)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)

for step in range(30):
    text = torch.randint(0, WORDS, (8, 20))
    with torch.no_grad():
        wanted = teacher(text)
    given = student(text)
    loss = TEMPERATURE**2 * F.kl_div(
        F.log_softmax(given / TEMPERATURE, dim=-1),
        F.softmax(wanted / TEMPERATURE, dim=-1),
        reduction="batchmean",
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step + 1}: divergence {loss.item():.4f}")
