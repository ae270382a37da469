"""The loss of feature sequences is that of its definition, on the steps that it should see."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from surefit.data.features.layout import Kind
from surefit.losses.features import FeatureLoss, Objective

FEATURES, STEPS = 7, 6


class Shown(nn.Module):
    """A model whose hidden states are the projected features that it is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.projection = nn.Linear(FEATURES, 5)
        self.head = nn.Linear(5, FEATURES)

    def forward(
        self, given: torch.Tensor, real: torch.Tensor, masked: torch.Tensor | None
    ) -> torch.Tensor:
        hidden: torch.Tensor = self.projection(given.float()) * real[..., None]
        return hidden if masked is None else hidden * ~masked[..., None]


def rows(kind: Kind, count: int) -> torch.Tensor:
    if kind is Kind.ONE_HOT:
        return nn.functional.one_hot(torch.randint(0, FEATURES, (count, STEPS)), FEATURES).float()
    if kind is Kind.MULTI_HOT:
        return (torch.rand(count, STEPS, FEATURES) < 0.3).float()
    return torch.randn(count, STEPS, FEATURES)


def by_definition(said: torch.Tensor, target: torch.Tensor, kind: Kind) -> float:
    """Of one step, in float64."""
    said, target = said.double(), target.double()
    if kind is Kind.ONE_HOT:
        return float(-(said.log_softmax(0) * target).sum())
    if kind is Kind.MULTI_HOT:
        chance = said.sigmoid()
        return float(-(target * chance.log() + (1 - target) * (1 - chance).log()).mean())
    return float(((said - target) ** 2).mean())


@settings(max_examples=30, deadline=None)
@given(
    kind=st.sampled_from(list(Kind)),
    causal=st.booleans(),
    count=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    real=st.integers(2, STEPS),
)
def test_only_real_masked_or_next_steps_are_summed(
    kind: Kind, causal: bool, count: int, seed: int, real: int
) -> None:
    torch.manual_seed(seed)
    given = rows(kind, count)
    attention = torch.zeros(count, STEPS, dtype=torch.int64)
    attention[:, :real] = 1
    masked = None if causal else (torch.rand(count, STEPS) < 0.4) & attention.bool()
    model = Shown()
    loss = FeatureLoss(model, Objective(kind, causal))(given, 3, attention, masked)
    said = model.head(model(given, attention, masked)).detach()
    expected = 0.0
    for row in range(count):
        for step in range(STEPS):
            if masked is not None and masked[row, step]:
                expected += by_definition(said[row, step], given[row, step], kind)
            if causal and step and attention[row, step]:
                expected += by_definition(said[row, step - 1], given[row, step], kind)
    assert float(loss.detach()) == pytest.approx(expected / 3, rel=1e-5, abs=1e-6)
