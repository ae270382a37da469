"""How a fault looks from outside: in a traceback alone, without the values that decide."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Symptom:
    """What Python says of a fault, and what would have to be known to tell it from look-alikes.

    A symptom never decides: a rule's checks do, on values. It says which rules could.
    """

    said: str
    """A regular expression that the last line of the traceback (kind and message) matches."""
    decides: str
    """What must be known: "whether an id of the batch is as large as the table has rows"."""
    passed: str = ""
    """A regular expression that some `file:function` of the traceback matches, if it matters."""

    def fits(self, said: str, frames: tuple[str, ...]) -> bool:
        if re.search(self.said, said, re.S) is None:
            return False
        return not self.passed or any(re.search(self.passed, frame) for frame in frames)
