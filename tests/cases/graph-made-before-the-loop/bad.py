"""A new classifier on the features of an encoder, which are computed once for all epochs."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 16))
classifier = nn.Linear(16, 3)
optimizer = torch.optim.AdamW(classifier.parameters(), lr=1e-2)

readings = torch.randn(60, 12)
kinds = torch.randint(0, 3, (60,))

features = encoder(readings)
for epoch in range(6):
    loss = nn.functional.cross_entropy(classifier(features), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
