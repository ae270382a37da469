"""Losses of several terms: each reduced on purpose, or weighed, or a penalty on weights."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
rows = torch.sigmoid(torch.randn(256, 3) @ torch.randn(3, 32))
encoder, decoder = nn.Linear(32, 8), nn.Linear(4, 32)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)


def terms(batch: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    mean, log_variance = encoder(batch).chunk(2, dim=1)
    code = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
    return decoder(code), mean, 1 + log_variance - mean.pow(2) - log_variance.exp()


def per_row(batch: torch.Tensor) -> torch.Tensor:
    logits, _, inside = terms(batch)
    return F.binary_cross_entropy_with_logits(logits, batch) - 0.5 * inside.sum(1).mean()


def by_the_rows(batch: torch.Tensor) -> torch.Tensor:
    logits, _, inside = terms(batch)
    divergence = -0.5 * inside.sum() / len(batch)
    return F.binary_cross_entropy_with_logits(logits, batch) + divergence


def weighed(batch: torch.Tensor) -> torch.Tensor:
    logits, _, inside = terms(batch)
    return F.mse_loss(logits.sigmoid(), batch) + 2.5e-4 * (-0.5 * inside.sum())


def all_summed(batch: torch.Tensor) -> torch.Tensor:
    logits, _, inside = terms(batch)
    reconstruction = F.mse_loss(logits, batch, reduction="sum")
    return (reconstruction - 0.5 * inside.sum()) / len(batch)


def with_a_penalty(batch: torch.Tensor) -> torch.Tensor:
    logits, _, _ = terms(batch)
    norms = sum(weight.pow(2).sum() for weight in decoder.parameters())
    return F.mse_loss(logits, batch) + norms


def with_importances(batch: torch.Tensor) -> torch.Tensor:
    logits, mean, _ = terms(batch)
    importance = torch.linspace(1, 2, len(batch)).softmax(0)[:, None]
    return F.mse_loss(logits, batch) + (importance * mean.pow(2)).sum()


for loss_of in (per_row, by_the_rows, weighed, all_summed, with_a_penalty, with_importances):
    for _ in range(4):
        batch = rows[torch.randint(0, 256, (32,))]
        loss = loss_of(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss_of.__name__, "trained")
