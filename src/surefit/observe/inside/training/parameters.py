"""What was seen of each parameter, over all looks."""

import statistics
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import ParameterSeen
from surefit.observe.inside import origins
from surefit.observe.inside.training.roots import Named

MOST_SIZES = 32
"""Looks from which the size of updates is kept."""


@dataclass(slots=True)
class Parameter:
    """Counts only; the tensor itself is not kept."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    made_at: Place | None
    serial: int
    layer: str = ""
    registered: bool = True
    root: int = 0
    held_by: int | None = None
    looked: int = 0
    absent: int = 0
    zero: int = 0
    not_finite: int = 0
    sampled: int = 0
    unchanged: int = 0
    changed: bool = False
    updates: list[float] = field(default_factory=list)
    spacings: list[float] = field(default_factory=list)

    def sized(self, update: float | None, spacing: float) -> None:
        if len(self.spacings) < MOST_SIZES:
            self.spacings.append(spacing)
            if update is not None:
                self.updates.append(update)

    def seen(self) -> ParameterSeen:
        return ParameterSeen(
            self.name,
            self.shape,
            self.dtype,
            self.made_at,
            self.serial,
            self.layer,
            self.registered,
            self.held_by,
            self.looked,
            self.absent,
            self.zero,
            self.not_finite,
            self.sampled,
            self.unchanged,
            statistics.median(self.updates) if self.updates else None,
            statistics.median(self.spacings) if self.spacings else None,
            self.root,
            self.changed,
        )


_holders: dict[int, tuple[Callable[[], Any], int]] = {}


def holds(optimizer: int, tensor: Any) -> None:
    """Notes that the optimizer of this serial stepped with a tensor."""
    _holders[id(tensor)] = weakref.ref(tensor), optimizer


def last_held_by(tensor: Any) -> int | None:
    """Serial of the optimizer that last stepped with a tensor, also if it is gone since."""
    alive, serial = _holders.get(id(tensor), (None, 0))
    return serial if alive is not None and alive() is tensor else None


def parameter(tensor: Any, named: Named | None, otherwise: str) -> Parameter:
    """Of a tensor, by the name that it has in its root, or by another."""
    lazy = type(tensor).__name__.startswith("Uninitialized")
    found = Parameter(
        named.name if named else otherwise,
        () if lazy else tuple(int(size) for size in tensor.shape),
        str(tensor.dtype).removeprefix("torch."),
        origins.made_at(tensor),
        origins.serial(tensor),
    )
    if named is not None:
        found.layer, found.registered, found.root = named.layer, named.registered, named.root
    return found
