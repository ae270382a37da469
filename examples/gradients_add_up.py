"""Trains a classifier. The accuracy rises, nothing fails, and the gradients are wrong:

surefit run --stop-on error examples/gradients_add_up.py
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ROWS = 32768

torch.manual_seed(0)
inputs = torch.randn(ROWS, 64)
classes = inputs[:, :4].argmax(1)
loader = DataLoader(TensorDataset(inputs, classes), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

try:
    for epoch in range(100):
        right = 0
        for rows, targets in loader:
            logits = model(rows)
            loss = nn.functional.cross_entropy(logits, targets)
            loss.backward()
            optimizer.step()
            right += (logits.argmax(1) == targets).sum().item()
        print(f"epoch {epoch}  loss {loss.item():.3f}  accuracy {right / ROWS:.3f}", flush=True)
except KeyboardInterrupt:
    print(f"stopped in epoch {epoch}")
