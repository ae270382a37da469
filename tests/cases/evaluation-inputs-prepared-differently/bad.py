import torch
from torch import nn

torch.manual_seed(0)
widths = torch.tensor([3.0, 50.0, 0.2, 8.0, 120.0, 1.5])
x = torch.randn(240, 6) * widths + 4 * widths
y = (x[:, 0] / 3.0 + x[:, 1] / 50.0 > 8).long()
x_train, x_val, y_train, y_val = x[:192], x[192:], y[:192], y[192:]
mean, std = x_train.mean(0), x_train.std(0)
x_train = (x_train - mean) / std

model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    model.train()
    for start in range(0, 192, 32):
        batch = slice(start, start + 32)
        loss = nn.functional.cross_entropy(model(x_train[batch]), y_train[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(x_val).argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch}: validation accuracy {accuracy:.3f}")
