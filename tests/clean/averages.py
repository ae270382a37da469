"""Averages of evaluations, reported in ways that are all right."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, held_out = torch.randn(96, 8), torch.randn(50, 8)
y, expected = x[:, :4].argmax(1), held_out[:, :4].argmax(1)
train = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
valid = DataLoader(TensorDataset(held_out, expected), batch_size=16)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def evaluate() -> dict[str, float]:
    total, weighted, right, rows = 0.0, 0.0, 0, 0
    worst = 0.0
    with torch.no_grad():
        for batch, labels in valid:
            logits = model(batch)
            loss = F.cross_entropy(logits, labels)
            total += loss.item()
            weighted += loss.item() * len(labels)
            right += (logits.argmax(1) == labels).sum().item()
            rows += len(labels)
            worst = max(worst, loss.item())
    return {
        "mean": total / len(valid),
        "weighted": weighted / rows,
        "sum": total,
        "worst": worst,
        "accuracy": right / rows,
    }


best = 0.0
for epoch in range(5):
    running = 0.0
    for batch, labels in train:
        loss = F.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running = 0.9 * running + 0.1 * loss.item()
    found = evaluate()
    best = max(best, found["accuracy"])
    print(f"epoch {epoch} running loss {running:.4f} last loss {loss.item():.4f}")
    print(f"val loss {found['mean']:.4f} weighted {found['weighted']:.4f} sum {found['sum']:.3f}")
    print(f"worst batch {found['worst']:.4f} perplexity {math.exp(found['weighted']):.3f}")
    accuracy = found["accuracy"]
    print(f"accuracy {accuracy:.4f} = {100 * accuracy:.2f}%, error {1 - accuracy:.4f}")
    print(f"best accuracy {best:.4f}")
