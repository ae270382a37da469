"""What memory a training step takes, counted tensor by tensor in a pass that is really made."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

from surefit.data.free_memory import free_memory as free_memory_here
from surefit.losses.places import CHUNK
from surefit.models.quantised import bytes_of
from surefit.models.shards import held_here


@dataclass(frozen=True, slots=True)
class Memory:
    """What a step holds, in bytes."""

    weights: int
    optimizer: int
    """Adam's two moments of every trained weight."""

    gradients: int
    activations: int
    """What is there at the end of the forward pass: kept for the way back."""

    peak: int
    """The most that a pass there and back holds at once beside weights and moments: activations,
    gradients as they come, and what layers and loss need for a moment."""

    stepping: int
    """What the optimizer needs for a moment beside gradients and moments."""

    accumulates: bool = False
    """Whether gradients of the batch before are still there during a pass."""

    @property
    def beside_weights(self) -> int:
        held = self.gradients if self.accumulates else 0
        return self.optimizer + max(self.peak + held, self.gradients + self.stepping)

    @property
    def total(self) -> int:
        return self.weights + self.beside_weights

    def __str__(self) -> str:
        passing = self.total - self.weights - self.optimizer
        return (
            f"about {megabytes(self.total)}: weights {megabytes(self.weights)}, optimizer "
            f"{megabytes(self.optimizer)}, gradients and activations of the longest batch "
            f"{megabytes(passing)}"
        )


@dataclass(frozen=True, slots=True)
class Pass:
    """The bytes that a pass held when it had come to the loss, and at most."""

    kept: int
    peak: int


class LiveBytes(TorchDispatchMode):
    """Counts the bytes of all tensors that are made while it is entered, as they come and go."""

    def __init__(self, known: Iterable[torch.Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = 0
        self.peak = 0
        self._sizes: dict[int, int] = {_storage(tensor)._cdata: 0 for tensor in known}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for one in (made,) if isinstance(made, torch.Tensor) else tree_iter(made):
            if isinstance(one, torch.Tensor):
                self._add(_storage(one))
        inside = _inside(_name(func), args)
        if self.now + inside > self.peak:
            self.peak = self.now + inside
        return made

    def _add(self, storage: torch.UntypedStorage) -> None:
        if storage._cdata not in self._sizes:
            self._sizes[storage._cdata] = storage.nbytes()
            self.now += storage.nbytes()
            weakref.finalize(storage, self._remove, storage._cdata).atexit = False

    def _remove(self, storage: int) -> None:
        self.now -= self._sizes.pop(storage, 0)


def measured(
    module: nn.Module,
    given: Iterable[torch.Tensor],
    there: Callable[[], torch.Tensor],
    back: Callable[[torch.Tensor], object] | None = None,
) -> tuple[torch.Tensor, Pass]:
    """The loss that `there` gives, and the bytes of that pass and of the way `back`."""
    weights = [*module.parameters(), *module.buffers()]
    if weights[0].is_cuda:
        return _measured_on_gpu(there, back)
    with LiveBytes([*weights, *given]) as live:
        loss = there()
        kept = live.now
        if back is not None and loss.requires_grad:
            back(loss)
    return loss, Pass(kept, live.peak)


def _measured_on_gpu(
    there: Callable[[], torch.Tensor], back: Callable[[torch.Tensor], object] | None
) -> tuple[torch.Tensor, Pass]:
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    loss = there()
    kept = torch.cuda.memory_allocated() - before
    if back is not None and loss.requires_grad:
        back(loss)
    return loss, Pass(kept, torch.cuda.max_memory_allocated() - before)


def memory_of(module: nn.Module, found: Pass, *, accumulates: bool = False) -> Memory:
    """A whole step, from what a pass held."""
    trained = [p for p in module.parameters() if p.requires_grad]
    sizes = [held_here(p).numel() * p.element_size() for p in trained]
    gradients = sum(sizes)
    # Tensor by tensor on a CPU: a root and a quotient. On a GPU all roots at once.
    stepping = gradients if trained and trained[0].is_cuda else 2 * max(sizes, default=0)
    return Memory(
        weights=sum(bytes_of(p) for p in module.parameters())
        + sum(b.numel() * b.element_size() for b in module.buffers()),
        optimizer=2 * gradients,
        gradients=gradients,
        activations=found.kept,
        peak=found.peak,
        stepping=stepping,
        accumulates=accumulates,
    )


def free_memory(on_gpu: bool) -> int:
    """Bytes to be had there."""
    if on_gpu:
        return int(torch.cuda.mem_get_info()[0])
    return free_memory_here()


def megabytes(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def _storage(tensor: torch.Tensor) -> torch.UntypedStorage:
    return tensor.untyped_storage()


@cache
def _name(operation: Any) -> str:
    return str(operation.name())


def _inside(name: str, args: Any) -> int:
    """What the losses' large operations hold for a moment, out of sight: logits of a chunk."""
    if name.startswith("aten::logsumexp"):
        return int(args[0].nbytes)
    if "linear_cross_entropy" not in name or "backward" in name:
        return 0
    hidden, weight = args[:2]
    return int(min(len(hidden), CHUNK) * len(weight) * hidden.element_size())
