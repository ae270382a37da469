"""Calls of a library's metrics, and whether they were given what these are defined on."""

from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCall:
    """A function that the user calls at one line."""

    function: str
    place: Place
    times: int
    decided: int
    """Times that it was given 0 and 1 alone where it wants scores."""
    rows: int
    """Of the last call."""
    step: int
    """Optimizer steps before the first call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCalls(Measure):
    """Of one process."""

    calls: tuple[MetricCall, ...] = ()
