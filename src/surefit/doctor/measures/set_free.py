"""Parameters that were frozen when an optimizer was given others, and that learn later."""

from dataclasses import dataclass

from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class FreedParameter:
    """It did not require a gradient when the optimizer was created; later it did, and had one."""

    serial: int
    """Of the parameter, as in `ParameterSeen`."""
    optimizer: int
    """Serial of the last optimizer that was created while it was frozen."""
    by: int
    """Steps of all optimizers when it was first noticed with a gradient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFree(Measure):
    """Of all parameters that were watched."""

    watched: int
    """Parameters that were frozen while an optimizer was created."""
    freed: tuple[FreedParameter, ...] = ()
