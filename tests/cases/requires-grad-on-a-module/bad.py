import torch
from torch import nn

torch.manual_seed(0)
features = torch.randn(256, 12)
labels = (features[:, 0] * features[:, 1] > 0).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.last = nn.Sequential(nn.Linear(32, 32), nn.ReLU())
        self.head = nn.Linear(32, 2)

    def forward(self, rows):
        return self.head(self.last(self.encoder(rows)))


model = Net()
for parameter in model.parameters():
    parameter.requires_grad = False
model.last.requires_grad = True
for parameter in model.head.parameters():
    parameter.requires_grad = True
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(features), labels)
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
