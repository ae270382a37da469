"""A law that no library enforces, how it is told that it does not hold, and that it was watched."""

from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.violations import Violation


@dataclass(frozen=True, slots=True)
class Law:
    """Something that every healthy training run satisfies."""

    name: str
    """Of its file in `invariants/`."""
    words: str
    """`every weight that should learn, learns`."""


NOT_NAMED = Law("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenLaw(Violation):
    """An invariant that does not hold. Each way to break it has a class of its own."""

    law: Law = NOT_NAMED
    """That of the file in `invariants/` which yields it; filled in by the engine."""
    said: str
    """What was expected and what was seen, in the user's names and numbers: a sentence that can
    stand as a headline where no rule explains it."""
    facts: tuple[Fact, ...] = ()
    steps: int = 0
    """Optimizer steps after which it was certain; a proof looks at as many."""
    fault: str = ""
    """Which fault this is: violations with the same words have the same cause."""
    certain: bool = True
    """False where healthy runs can look like this, too: then only a rule that has found the cause
    speaks of it."""
    lasting: bool = True
    """Nothing that the run does later can mend it, so that it is said while the run goes on. Not so
    of what has not happened yet: a weight that has not moved, a file that was not written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredOn:
    """On what a law was measured; without that, why it was not."""

    on: str = ""
    """`64 parameters at 120 steps`."""
    why_not: str = ""
    """`no evaluation was seen`."""
