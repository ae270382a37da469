"""What goes wrong in a script, found once for all rules."""

from functools import lru_cache
from weakref import WeakKeyDictionary

from surefit.evidence.imagined.mishaps import Mishap
from surefit.evidence.imagined.running import Run
from surefit.source.reading import Source

WORTH_IT = ("torch", "transformers", "peft")
KNOWN: "WeakKeyDictionary[Source, tuple[Mishap, ...]]" = WeakKeyDictionary()


def mishaps(source: Source) -> tuple[Mishap, ...]:
    """Of a whole file; none where it does not use torch."""
    found = KNOWN.get(source)
    if found is None:
        found = tuple(Run(source).whole()) if worth(source.text) else ()
        KNOWN[source] = found
    return found


@lru_cache(maxsize=4)
def worth(text: str) -> bool:
    return any(word in text for word in WORTH_IT)
