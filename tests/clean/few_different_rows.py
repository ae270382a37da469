"""Parity of eight bits: rows that are drawn at random come again, also in the test set."""

import torch
from torch import nn

torch.manual_seed(0)
x_train, x_test = torch.randint(0, 2, (1000, 8)).float(), torch.randint(0, 2, (200, 8)).float()
y_train, y_test = x_train.sum(1) % 2, x_test.sum(1) % 2
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(5):
    model.train()
    for rows in torch.randperm(1000).split(50):
        optimizer.zero_grad()
        guess = model(x_train[rows]).squeeze(1)
        nn.functional.binary_cross_entropy_with_logits(guess, y_train[rows]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = ((model(x_test).squeeze(1) > 0) == (y_test > 0)).float().mean()
    print(f"{right:.2f}")
