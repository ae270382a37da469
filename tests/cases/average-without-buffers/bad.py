import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
labels, expected = torch.randint(0, 3, (96,)), torch.randint(0, 3, (48,))
centres = torch.randn(3, 8)
rows, held_out = (
    10 + centres[wanted] + torch.randn(len(wanted), 8) for wanted in (labels, expected)
)
loader = DataLoader(TensorDataset(rows, labels), batch_size=16, shuffle=True)

model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 3))
average = copy.deepcopy(model).eval().requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


@torch.no_grad()
def update():
    for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
        slow.lerp_(fast, 0.2)


for epoch in range(3):
    for batch, wanted in loader:
        loss = F.cross_entropy(model(batch), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update()
    with torch.no_grad():
        right = (average(held_out).argmax(1) == expected).float().mean().item()
    print(f"epoch {epoch} accuracy of the average {right:.3f}")
