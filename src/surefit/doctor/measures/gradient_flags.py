"""Modules that were given an attribute which only parameters obey."""

from dataclasses import dataclass

from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class FlaggedModule:
    """A module with a plain attribute `requires_grad`."""

    kind: str
    flag: bool
    """What the attribute was set to."""
    parameters: int
    otherwise: int
    """Parameters of it that have the other value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientFlags(Measure):
    """Of all modules that lived when this was written."""

    modules: int
    flagged: tuple[FlaggedModule, ...] = ()
