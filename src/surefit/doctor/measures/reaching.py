"""How far a check came after the first step."""

from dataclasses import dataclass

from surefit.doctor.observations import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached(Measure):
    """Of a script that is ended once it has shown what a check wants to see."""

    evaluation: bool
    """One was begun after the first step, and ended."""
    save: bool
    """A state was written, or taken to be written."""
    ended: bool
    """It was ended before its own end: what has not happened yet could still have."""
    batches: int | None = None
    """Of an epoch that were taken at most, where epochs were cut."""
