import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(240, 4)
price = 200_000 + 60_000 * (x[:, 0] - x[:, 1]) + 5_000 * torch.randn(240)
train_price = price[:192]
mean, std = train_price.mean(), train_price.std()
train_target = (train_price - mean) / std
test_target = (price[192:] - mean) / std

model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    model.train()
    for start in range(0, 192, 32):
        predicted = model(x[start : start + 32]).squeeze(-1)
        loss = nn.functional.mse_loss(predicted, train_target[start : start + 32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        test_loss = nn.functional.mse_loss(model(x[192:]).squeeze(-1), test_target)
    print(f"epoch {epoch}: test loss {test_loss.item():.3f}")
