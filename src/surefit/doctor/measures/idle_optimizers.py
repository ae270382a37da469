"""Optimizers that never step while others do."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleOptimizer:
    """One that has not stepped, and whose parameters no optimizer that steps holds."""

    serial: int
    kind: str
    made_at: Place | None
    tensors: int
    watched: int
    """Parameters of it with a gradient, of which some elements were compared; `moved`: those that
    changed or are gone."""
    moved: int
    fresh: int
    """Looks at which their gradients were others than at the look before."""
    since: int
    """Steps of all optimizers at the first look; `until`: at the last."""
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleOptimizers(Measure):
    """All such optimizers of a process."""

    optimizers: tuple[IdleOptimizer, ...] = ()
