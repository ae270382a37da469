import torch
from torch import nn

torch.manual_seed(0)
clean = torch.randn(256, 4)
model = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for batch in clean.split(32):
        noise = 0.5 * torch.randn_like(batch)
        loss = nn.functional.mse_loss(model(batch + noise), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}")
