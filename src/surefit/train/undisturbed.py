"""Trying a model without leaving a trace: mode, random state and gradients are put back."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from .random_state import random_state, restore_random_state


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Without dropout inside; gradients that were there are kept out of the way."""
    training = [module for module in model.modules() if module.training]
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    numbers = random_state()
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True
        for parameter, gradient in gradients:
            parameter.grad = gradient
        restore_random_state([numbers], rank=0)
