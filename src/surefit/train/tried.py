"""One thing that was tried on this device: what was measured, and its bound."""

from dataclasses import dataclass

import torch

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True, slots=True)
class Tried:
    """`bound` says in words what `measured` must be; `held` whether it is."""

    name: str
    measured: str
    bound: str
    held: bool

    def __str__(self) -> str:
        return f"{'ok' if self.held else 'FAIL':<4} {self.name:<46} {self.measured} ({self.bound})"


def drawn(*shape: int, seed: int, scale: float = 1.0) -> torch.Tensor:
    """The same on every device and in every run."""
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def exact(tensor: torch.Tensor) -> torch.Tensor:
    """In float64 on the CPU, as not every device has it."""
    return tensor.detach().cpu().double()
