"""Random targets for good reasons: made-up data, noise that is predicted, distilled random nets."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Linear(6, 6)
fixed = nn.Linear(6, 6).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
data = torch.randn(64, 6)


def made_up() -> torch.Tensor:
    """A measurement of speed: nothing is to be learned."""
    x, y = torch.randn(16, 6), torch.randn(16, 6)
    return F.mse_loss(model(x), y)


def denoised() -> torch.Tensor:
    noise = torch.randn_like(data)
    return F.mse_loss(model(data + noise), data)


def noise_predicted() -> torch.Tensor:
    noise = torch.randn_like(data)
    return F.mse_loss(model(0.5 * data + 0.5 * noise), noise)


def velocity() -> torch.Tensor:
    """Flow matching: the target has the noise in it."""
    noise, time = torch.randn_like(data), torch.rand(64, 1)
    return F.mse_loss(model((1 - time) * noise + time * data), data - noise)


def distilled() -> torch.Tensor:
    x = torch.randn(16, 6)
    return F.mse_loss(model(x), fixed(x))


for loss_of in (made_up, denoised, noise_predicted, velocity, distilled):
    for _ in range(4):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss_of.__name__, "trained")
