"""Outputs pulled together, with something that keeps them apart: a stop, a variance, a decoder."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
rows = torch.randn(256, 12)
encoder, predictor, decoder = nn.Linear(12, 8), nn.Linear(8, 8), nn.Linear(8, 12)
parameters = [*encoder.parameters(), *predictor.parameters(), *decoder.parameters()]
optimizer = torch.optim.Adam(parameters, lr=1e-3)


def stopped(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        target = encoder(second)
    return -F.cosine_similarity(predictor(encoder(first)), target).mean()


def varied(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    features = encoder(second)
    spread = F.relu(1 - features.std(dim=0)).mean()
    return F.mse_loss(predictor(encoder(first)), features) + spread


def decoded(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    code = encoder(second)
    return F.mse_loss(predictor(encoder(first)), code) + F.mse_loss(decoder(code), second)


def rebuilt(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    return F.mse_loss(decoder(predictor(encoder(first))), second)


for loss_of in (stopped, varied, decoded, rebuilt):
    for _ in range(4):
        batch = rows[torch.randint(0, 256, (32,))]
        loss = loss_of(batch + 0.1, batch - 0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss_of.__name__, "trained")
