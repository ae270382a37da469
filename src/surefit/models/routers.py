"""Routers of a mixture of experts: found, and led to use other experts than their own choice."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

Routed = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""What a router of transformers gives back for tokens: logits of all experts, and the weights and
numbers of those that are used."""


@dataclass(frozen=True, slots=True)
class Router:
    """The part of a layer that shares tokens out among experts."""

    name: str
    module: Any

    @property
    def experts(self) -> int:
        return int(self.module.weight.shape[0])

    @property
    def used(self) -> int:
        """How many experts each token goes through."""
        return int(self.module.top_k)

    @property
    def parameters(self) -> list[nn.Parameter]:
        return list(self.module.parameters(recurse=False))


def find_routers(model: nn.Module) -> list[Router]:
    """By what they are: a weight of experts x width in a class of routers that picks some of them.

    Layers with `gate` in their name are mostly none: they scale one expert, or every layer of a
    dense model.
    """
    return [Router(name, module) for name, module in model.named_modules() if _is_router(module)]


def _is_router(module: nn.Module) -> bool:
    weight = getattr(module, "weight", None)
    return (
        type(module).__name__.lower().endswith("router")
        and isinstance(weight, nn.Parameter)
        and weight.dim() == 2
        and isinstance(getattr(module, "top_k", None), int)
    )


@contextmanager
def all_experts(routers: list[Router]) -> Iterator[None]:
    """Every token goes through all experts, with as much weight in all as it had before.

    Routers that do not norm the weights of those they pick give them less than 1 in all; without
    this the layer would give back more than it was trained to.
    """
    with ExitStack() as stack:
        for router in routers:
            stack.enter_context(_led(router, _through_all))
        yield


@dataclass(slots=True)
class Augmented:
    """Teachers for knowledge augmentation: all experts but one, in some layers by chance."""

    routers: list[Router]
    chance: float
    """Of a layer that the left-out expert is drawn by its weight, in place of the least likely."""

    numbers: torch.Generator = field(default_factory=torch.Generator)

    @contextmanager
    def once(self) -> Iterator[None]:
        """For one pass: each layer decides anew."""
        with ExitStack() as stack:
            for router in self.routers:
                by_chance = float(torch.rand((), generator=self.numbers)) < self.chance
                leave = self._without_drawn if by_chance else _without_least
                stack.enter_context(_led(router, leave))
            yield

    def _without_drawn(self, everything: Routed) -> Routed:
        """N - 1 experts drawn one after the other without putting back, by their weights."""
        _, weights, _ = everything
        chances = (weights / weights.sum(-1, keepdim=True)).float().cpu()
        kept = torch.multinomial(chances, weights.shape[-1] - 1, generator=self.numbers)
        return _only(everything, kept.to(weights.device))


def balance_loss(logits: torch.Tensor, used: int) -> torch.Tensor:
    """How unevenly tokens and weights fall on experts: CV(counts)² + CV(weights)².

    The counts have no gradient; the weights, which all experts share, have one.
    """
    weights = logits.float().softmax(-1)
    counts = torch.zeros_like(weights).scatter(1, weights.topk(used).indices, 1.0).sum(0)
    return _variation(counts) + _variation(weights.sum(0))


def _variation(of_experts: torch.Tensor) -> torch.Tensor:
    """The squared ratio of spread to mean."""
    return of_experts.var(unbiased=False) / of_experts.mean().square()


def _through_all(everything: Routed) -> Routed:
    return everything


def _without_least(everything: Routed) -> Routed:
    return _only(everything, everything[1].topk(everything[1].shape[-1] - 1).indices)


def _only(everything: Routed, kept: torch.Tensor) -> Routed:
    """Of all experts, in the order of their numbers, these; they share the whole weight."""
    logits, weights, experts = everything
    some = weights.gather(-1, kept)
    some = some * (weights.sum(-1, keepdim=True) / some.sum(-1, keepdim=True))
    return logits, some, experts.gather(-1, kept)


@contextmanager
def _led(router: Router, choose: Callable[[Routed], Routed]) -> Iterator[None]:
    """While this lasts, the router gives what is chosen of all experts."""
    module, own = router.module, router.module.forward

    def forward(*given: Any, **named: Any) -> Routed:
        mass = own(*given, **named)[1].sum(-1, keepdim=True)
        with _asked_for_all(router):
            logits, weights, experts = own(*given, **named)
        order = experts.argsort(-1)
        weights, experts = weights.gather(-1, order), experts.gather(-1, order)
        weights = weights * (mass.detach() / weights.sum(-1, keepdim=True).detach())
        return choose((logits, weights, experts))

    module.forward = forward
    try:
        yield
    finally:
        del module.forward


@contextmanager
def _asked_for_all(router: Router) -> Iterator[None]:
    """It picks as many as there are, of every group where it has groups."""
    module = router.module
    all_of = {"top_k": router.experts}
    if hasattr(module, "topk_group"):
        all_of["topk_group"] = module.num_group
    own = {name: getattr(module, name) for name in all_of}
    for name, value in all_of.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in own.items():
            setattr(module, name, value)
