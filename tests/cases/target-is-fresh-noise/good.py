import torch
from torch import nn

torch.manual_seed(0)
STEPS = 20
kept = torch.cumprod(1 - torch.linspace(0.001, 0.2, STEPS), dim=0)
model = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(60):
    data = torch.randn(64, 2) * 0.1 + torch.tensor([2.0, -1.0])
    time = torch.randint(0, STEPS, (64,))
    noise = torch.randn_like(data)
    noisy = kept[time, None].sqrt() * data + (1 - kept[time, None]).sqrt() * noise
    predicted = model(torch.cat([noisy, time[:, None] / STEPS], dim=1))
    loss = nn.functional.mse_loss(predicted, noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
