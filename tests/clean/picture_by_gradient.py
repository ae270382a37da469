"""An input is optimised through a model in evaluation mode, whose own weights nobody holds."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, 5)).eval()
picture = torch.zeros(1, 16, requires_grad=True)
optimizer = torch.optim.Adam([picture], lr=0.1)
wanted = torch.tensor([3])
for _ in range(20):
    loss = F.cross_entropy(network(picture), wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
