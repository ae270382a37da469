"""MSE as the loss, RMSE in original units, MAE and R2; batches of one size."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x, hx = torch.randn(256, 8), torch.randn(203, 8)
w = torch.randn(8)
y, hy = (x @ w)[:, None] * 3 + torch.randn(256, 1), (hx @ w)[:, None] * 3 + torch.randn(203, 1)
train = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(hx, hy), batch_size=50)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(model.parameters(), 0.01)
for epoch in range(5):
    for b, t in train:
        loss = F.mse_loss(model(b), t)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        total = sum(F.mse_loss(model(b), t).item() * len(b) for b, t in valid)
        out = torch.cat([model(b) for b, _ in valid])
    mse = total / len(hx)
    r2 = 1 - ((out - hy) ** 2).sum() / ((hy - hy.mean()) ** 2).sum()
    apart = (out - hy).abs()
    print(f"epoch {epoch}: val mse {mse:.4f} RMSE {mse**0.5:.4f} rmse in cm {250 * mse**0.5:.2f}")
    print(f"MAE {apart.mean():.4f} R2 {r2:.4f} median error {apart.median():.4f}")
