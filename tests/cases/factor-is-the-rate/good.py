import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

RATE = 0.01
WARMUP = 5

torch.manual_seed(0)
features = torch.randn(256, 8)
targets = features @ torch.randn(8)


def rate_at(step):
    return min(1.0, (step + 1) / WARMUP)


model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
scheduler = LambdaLR(optimizer, rate_at)
for epoch in range(5):
    for rows, wanted in zip(features.split(32), targets.split(32), strict=True):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(rows).squeeze(-1), wanted)
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
