"""Reports best so far, per-class and last-batch numbers, on purpose."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, hx = torch.randn(256, 8), torch.randn(201, 8)
W = torch.randn(8, 3)
y, hy = (x @ W).argmax(1), (hx @ W).argmax(1)
train = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(hx, hy), batch_size=32)
model = nn.Linear(8, 3)
opt = torch.optim.Adam(model.parameters(), 0.02)
best, smooth = 0.0, None
for epoch in range(5):
    for b, t in train:
        loss = F.cross_entropy(model(b), t)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    right = n = 0
    total = 0.0
    per = torch.zeros(3, 2)
    with torch.no_grad():
        for b, t in valid:
            out = model(b)
            total += F.cross_entropy(out, t, reduction="sum").item()
            g = out.argmax(1)
            right += (g == t).sum().item()
            n += len(t)
            for c in range(3):
                per[c, 0] += ((g == c) & (t == c)).sum()
                per[c, 1] += (t == c).sum()
            last = F.cross_entropy(out, t).item()
    acc = right / n
    print(f"epoch {epoch}: previous best accuracy {best:.4f}")
    best = max(best, acc)
    smooth = acc if smooth is None else 0.9 * smooth + 0.1 * acc
    print(f"epoch {epoch}: acc {acc:.4f} best acc {best:.4f} smoothed acc {smooth:.4f}")
    print(f"loss {total / n:.4f} ppl {math.exp(total / n):.3f} last batch loss {last:.4f}")
    print(
        "recall per class",
        [round(v, 4) for v in (per[:, 0] / per[:, 1]).tolist()],
        f"macro recall {(per[:, 0] / per[:, 1]).mean():.4f}",
    )
    print(f"error rate {100 * (1 - acc):.2f}% train loss {loss.item():.4f}")
