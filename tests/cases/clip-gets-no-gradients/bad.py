"""Fits a recurrent network to noisy sums; the gradients are clipped."""

import torch
from torch import nn

torch.manual_seed(0)
rows = torch.randn(128, 10, 3)
sums = rows.sum((1, 2)) * 5


class Summing(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.GRU(3, 16, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, batch):
        return self.out(self.layers(batch)[0][:, -1]).squeeze(-1)


model = Summing()
trained = (weight for weight in model.parameters() if weight.requires_grad)
optimizer = torch.optim.SGD(trained, lr=0.01)
for step in range(40):
    loss = nn.functional.mse_loss(model(rows), sums)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
print(f"loss {loss.item():.4f}")
