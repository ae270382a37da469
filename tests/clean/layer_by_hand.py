"""One layer has an optimizer; the other, made after it, is moved by hand with a rate of its own."""

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Linear(6, 12)
optimizer = torch.optim.Adam(body.parameters(), lr=1e-2)
head = nn.Linear(12, 1)
x = torch.randn(64, 6)
y = x[:, :1] * x[:, 1:2]
for _ in range(30):
    loss = nn.functional.mse_loss(head(torch.tanh(body(x))), y)
    optimizer.zero_grad()
    head.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for parameter in head.parameters():
            parameter -= 0.05 * parameter.grad
print(f"loss {loss.item():.4f}")
