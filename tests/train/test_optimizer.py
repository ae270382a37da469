"""AdamW is fused where torch has it, and saved and put back to the bit."""

from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from surefit.train.optimizer import adamw


def accelerator(scaler: object = None) -> Any:
    return SimpleNamespace(scaler=scaler)


def steps(model: nn.Module, optimizer: torch.optim.Optimizer, count: int) -> None:
    for step in range(count):
        optimizer.zero_grad()
        torch.manual_seed(step)
        (model(torch.randn(5, 7)) ** 2).sum().backward()
        optimizer.step()


def made(scaler: object = None) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = nn.Linear(7, 3)
    optimizer = adamw(model.parameters(), accelerator(scaler), learning_rate=1e-2, weight_decay=0.1)
    return model, optimizer


def test_it_takes_the_steps_of_the_plain_one() -> None:
    model, optimizer = made()
    assert optimizer.param_groups[0]["fused"]
    steps(model, optimizer, 20)
    plain, _ = made()
    steps(plain, torch.optim.AdamW(plain.parameters(), lr=1e-2, weight_decay=0.1), 20)
    for name, weight in model.named_parameters():
        torch.testing.assert_close(weight, plain.get_parameter(name), rtol=1e-5, atol=1e-6)


def test_put_back_it_goes_on_to_the_same_bits() -> None:
    model, optimizer = made()
    steps(model, optimizer, 5)
    again, other = made()
    again.load_state_dict(model.state_dict())
    other.load_state_dict(deepcopy(optimizer.state_dict()))
    for both in ((model, optimizer), (again, other)):
        steps(*both, 5)
    assert all(torch.equal(weight, again.state_dict()[name]) for name, weight in
               model.state_dict().items())  # fmt: skip


@pytest.mark.parametrize("frozen", [True, False])
def test_a_scaler_keeps_it_plain_and_frozen_weights_are_left_out(frozen: bool) -> None:
    model = nn.Linear(7, 3)
    model.bias.requires_grad_(not frozen)
    scaled = accelerator(object())
    optimizer = adamw(model.parameters(), scaled, learning_rate=1.0, weight_decay=0.0)
    assert not optimizer.param_groups[0]["fused"]
    assert len(optimizer.param_groups[0]["params"]) == 2 - frozen
