"""Contracts that a script will violate, derived from its source: the same types as from a crash."""

from weakref import WeakKeyDictionary

from surefit.doctor.causes import was_only_read
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import failed
from surefit.doctor.violations import Violation
from surefit.interpreter.calls import call_function, call_value, instantiate
from surefit.interpreter.evaluator import Evaluator, Language
from surefit.interpreter.expressions import evaluate_expression
from surefit.interpreter.statements import assign_target, run_block
from surefit.interpreter.violations import SourceViolation
from surefit.laws.case import Case
from surefit.laws.contracts import library_names, signatures
from surefit.source.reading import Source

LIBRARIES = {
    "signatures": signatures.violations_in_source,
    "library names": library_names.violations_in_source,
}
"""Contracts that are certain from the source of the installed libraries."""

WORTH_EVALUATING = ("torch", "transformers", "peft")
KNOWN_VIOLATIONS: "WeakKeyDictionary[Source, tuple[SourceViolation, ...]]" = WeakKeyDictionary()
PYTHON = Language(
    run_block, assign_target, evaluate_expression, call_value, call_function, instantiate
)


def violations_of(source: Source) -> tuple[SourceViolation, ...]:
    """Of a whole file; none where it does not use torch."""
    known = KNOWN_VIOLATIONS.get(source)
    if known is None:
        uses_torch = any(word in source.text for word in WORTH_EVALUATING)
        known = tuple(Evaluator(source, PYTHON).whole_file()) if uses_torch else ()
        KNOWN_VIOLATIONS[source] = known
    return known


def violations_in(recording: Recording, broken: list[str]) -> list[tuple[Violation, Case]]:
    """Of every script that was read and not run."""
    if not was_only_read(recording):
        return []
    found: list[tuple[Violation, Case]] = []
    for script in recording.all(Script):
        source = recording.source(script.file)
        if source is None:
            continue
        case = Case(recording, read=script.file)
        for name, in_source in LIBRARIES.items():
            try:
                found += [(law, case) for law in in_source(case, source)]
            except Exception as error:  # noqa: BLE001 - the interpreter still speaks
                broken.append(failed(f"the reader of {name}", error))
        for violation in violations_of(source):
            try:
                found += [(law, case) for law in violation.violations(case, source)]
            except Exception as error:  # noqa: BLE001 - the other violations are still told
                broken.append(failed(f"the interpreter's {violation.name}", error))
    return found
