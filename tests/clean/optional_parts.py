"""Takes a faster library, a saved state and a settings file if they are there."""

import json
from pathlib import Path

import torch
from torch import nn

try:
    import a_faster_attention as attention
except ImportError:
    attention = None

try:
    settings = json.loads(Path("settings-that-nobody-wrote.json").read_text())
except FileNotFoundError:
    settings = {"rate": 1e-2}

torch.manual_seed(0)
model = nn.Linear(6, 2)
try:
    model.load_state_dict(torch.load("state-that-nobody-saved.pt"))
except OSError:
    print("starts afresh")

optimizer = torch.optim.SGD(model.parameters(), lr=settings["rate"])
x, y = torch.randn(40, 6), torch.randint(0, 2, (40,))
for _ in range(15):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}, attention {attention}")
