"""The violations of a script, derived once for all rules."""

from weakref import WeakKeyDictionary

from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.violations import SourceViolation
from surefit.source.reading import Source

WORTH_EVALUATING = ("torch", "transformers", "peft")
KNOWN_VIOLATIONS: "WeakKeyDictionary[Source, tuple[SourceViolation, ...]]" = WeakKeyDictionary()


def violations_of(source: Source) -> tuple[SourceViolation, ...]:
    """Of a whole file; none where it does not use torch."""
    known = KNOWN_VIOLATIONS.get(source)
    if known is None:
        uses_torch = any(word in source.text for word in WORTH_EVALUATING)
        known = tuple(Evaluator(source).whole_file()) if uses_torch else ()
        KNOWN_VIOLATIONS[source] = known
    return known
