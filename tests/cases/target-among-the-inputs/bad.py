import torch
from torch import nn

torch.manual_seed(0)
length = 12
prices = torch.sin(torch.arange(400) / 6) + 0.3 * torch.randn(400)
windows, following = [], []
for start in range(len(prices) - length):
    windows.append(prices[start : start + length])
    following.append(prices[length + start - 1])
windows, following = torch.stack(windows), torch.stack(following)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.recurrent = nn.GRU(1, 16, batch_first=True)
        self.head = nn.Linear(16, 1)

    def forward(self, series):
        return self.head(self.recurrent(series)[0][:, -1])


model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(40):
    rows = torch.randint(0, len(windows), (32,))
    loss = nn.functional.smooth_l1_loss(model(windows[rows, :, None]), following[rows, None])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
