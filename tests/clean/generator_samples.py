"""A generator with batch norm is asked for samples in training mode, and only looked at."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
judge = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Dropout(0.2), nn.Linear(32, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
of_judge = torch.optim.Adam(judge.parameters(), lr=1e-3)
fixed = torch.randn(16, 4)
pictures = []
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
for step in range(20):
    real = torch.randn(32, 2) + 2
    fake = generator(torch.randn(32, 4))
    of_judge.zero_grad()
    loss = F.binary_cross_entropy_with_logits(judge(real), ones)
    loss = loss + F.binary_cross_entropy_with_logits(judge(fake.detach()), zeros)
    loss.backward()
    of_judge.step()
    of_generator.zero_grad()
    F.binary_cross_entropy_with_logits(judge(fake), ones).backward()
    of_generator.step()
    if step % 5 == 4:
        with torch.no_grad():
            sample = generator(fixed).detach().cpu()
        pictures.append(sample)
        print(f"step {step} judge {loss.item():.4f} pictures {len(pictures)}")
