"""A student-aware router: the routers of a teacher, trained for the student that listens."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from .routers import Router, balance_loss


@dataclass(slots=True)
class RouterTraining:
    """Trains routers in place, from fp32 copies of them, and knows what they were.

    Their owner never saves them over the teacher: `own_routers` puts the first ones back for as
    long as the teacher itself is wanted.
    """

    routers: list[Router]
    learning_rate: float
    first: list[torch.Tensor] = field(init=False)
    copies: list[nn.Parameter] = field(init=False)
    optimizer: torch.optim.Optimizer = field(init=False)

    def __post_init__(self) -> None:
        self.first = [weight.detach().clone() for weight in self.weights]
        self.copies = [nn.Parameter(weight.detach().float().clone()) for weight in self.weights]
        self.optimizer = torch.optim.AdamW(self.copies, lr=self.learning_rate, weight_decay=0.0)

    @property
    def weights(self) -> list[nn.Parameter]:
        return [weight for router in self.routers for weight in router.parameters]

    @contextmanager
    def gathering(self) -> Iterator["Choices"]:
        """While this lasts, the routers alone take gradients, and what they choose is kept."""
        choices = Choices(self.routers)
        with ExitStack() as stack:
            for weight in self.weights:
                weight.requires_grad_(True)
                stack.callback(weight.requires_grad_, False)
            for router in self.routers:
                hook = router.module.register_forward_hook(choices.keep)
                stack.callback(hook.remove)
            yield choices

    def step(self, summed: Callable[[torch.Tensor], torch.Tensor]) -> float:
        """One step of all routers by their gradients, `summed` over processes: their length."""
        with torch.no_grad():
            gradients = [summed(_gradient(weight)) for weight in self.weights]
            for copy, weight, gradient in zip(self.copies, self.weights, gradients, strict=True):
                copy.grad, weight.grad = gradient, None
            norm = nn.utils.get_total_norm(gradients)
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self._put(self.copies)
        return float(norm)

    @contextmanager
    def own_routers(self) -> Iterator[None]:
        """While this lasts, the teacher is as it was loaded."""
        with torch.no_grad():
            self._put(self.first)
        try:
            yield
        finally:
            with torch.no_grad():
                self._put(self.copies)

    def _put(self, weights: list[torch.Tensor] | list[nn.Parameter]) -> None:
        for weight, value in zip(self.weights, weights, strict=True):
            weight.copy_(value)

    def state_dict(self) -> dict[str, Any]:
        copies = [copy.detach() for copy in self.copies]
        return {"weights": copies, "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        with torch.no_grad():
            for copy, value in zip(self.copies, state["weights"], strict=True):
                copy.copy_(value)
            self._put(self.copies)
        self.optimizer.load_state_dict(state["optimizer"])


@dataclass(slots=True)
class Choices:
    """What routers chose in one pass, layer by layer: logits of all experts for each token."""

    routers: list[Router]
    logits: list[torch.Tensor] = field(default_factory=list)

    def keep(self, _module: nn.Module, _given: Any, chosen: Any) -> None:
        self.logits.append(chosen[0])

    def balance(self, real: torch.Tensor) -> torch.Tensor:
        """How unevenly the experts are used: a mean over layers, of tokens that are no padding."""
        tokens = real.flatten().bool()
        losses = [
            balance_loss(logits.flatten(0, -2)[tokens], router.used)
            for router, logits in zip(self.routers, self.logits, strict=True)
        ]
        return torch.stack(losses).mean()


def _gradient(weight: nn.Parameter) -> torch.Tensor:
    """In fp32; nothing where no token of the batch was supervised."""
    return (torch.zeros_like(weight) if weight.grad is None else weight.grad).float()
