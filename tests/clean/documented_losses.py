"""Losses with demands of their own, all met: CTC, triplets, pairs of 1 and -1, correlations."""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
rows = torch.randn(128, 10)
encoder = nn.Linear(10, 6)
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)


def with_ctc(batch: torch.Tensor) -> torch.Tensor:
    """Class 0 is the blank, and fills rows beyond their lengths."""
    scores = encoder(batch[:, None].expand(-1, 8, -1)).log_softmax(-1).transpose(0, 1)
    lengths = torch.randint(1, 4, (len(batch),))
    words = torch.randint(1, 6, (len(batch), 3))
    words[torch.arange(3)[None] >= lengths[:, None]] = 0
    return F.ctc_loss(scores, words, torch.full((len(batch),), 8), lengths)


def with_triplets(batch: torch.Tensor) -> torch.Tensor:
    near = encoder(batch + 0.1)
    return F.triplet_margin_loss(encoder(batch), near, near.roll(1, dims=0))


def with_ties(batch: torch.Tensor) -> torch.Tensor:
    """0 is a tie, which counts for nothing."""
    first, second = encoder(batch)[:, 0], encoder(batch.flip(0))[:, 0]
    return F.margin_ranking_loss(first, second, torch.randint(-1, 2, (len(batch),)).float())


def with_correlations(batch: torch.Tensor) -> torch.Tensor:
    """Features over the batch against features over the batch."""
    first, second = F.normalize(encoder(batch), dim=0), F.normalize(encoder(batch + 0.1), dim=0)
    return F.cross_entropy(first.T @ second / 0.1, torch.arange(6))


def with_cosines(batch: torch.Tensor) -> torch.Tensor:
    first, second = F.normalize(encoder(batch), dim=1), F.normalize(encoder(batch + 0.1), dim=1)
    return F.cross_entropy(first @ second.T / 0.1, torch.arange(len(batch)))


for loss_of in (with_ctc, with_triplets, with_ties, with_correlations, with_cosines):
    for _ in range(4):
        loss = loss_of(rows[torch.randint(0, 128, (16,))])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss_of.__name__, "trained")
