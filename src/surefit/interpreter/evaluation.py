"""The violations of a script, derived once for all rules."""

from weakref import WeakKeyDictionary

from surefit.interpreter.calls import call_function, call_value, instantiate
from surefit.interpreter.evaluator import Evaluator
from surefit.interpreter.expressions import evaluate_expression
from surefit.interpreter.statements import assign_target, run_block
from surefit.interpreter.violations import SourceViolation
from surefit.source.reading import Source

WORTH_EVALUATING = ("torch", "transformers", "peft")
KNOWN_VIOLATIONS: "WeakKeyDictionary[Source, tuple[SourceViolation, ...]]" = WeakKeyDictionary()


class ScriptEvaluator(Evaluator):
    """How each part of Python is evaluated."""

    block = run_block
    assign = assign_target
    evaluate = evaluate_expression
    call = call_value
    call_function = call_function
    instantiate = instantiate


def violations_of(source: Source) -> tuple[SourceViolation, ...]:
    """Of a whole file; none where it does not use torch."""
    known = KNOWN_VIOLATIONS.get(source)
    if known is None:
        uses_torch = any(word in source.text for word in WORTH_EVALUATING)
        known = tuple(ScriptEvaluator(source).whole_file()) if uses_torch else ()
        KNOWN_VIOLATIONS[source] = known
    return known
