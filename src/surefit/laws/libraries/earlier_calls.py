"""A setting of the whole process, which an earlier call of the same constructor has decided."""

import ast
from dataclasses import dataclass

from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.contracts.failed_checks import RefusedByCheck
from surefit.laws.values.earlier import EarlierEvaluations

Scalar = bool | int | float | str


@dataclass(frozen=True, slots=True)
class DecidedBefore:
    """`Accelerator()`, and `mixed_precision="bf16"` of a later `Accelerator`."""

    call: Expression
    name: str
    asked: Scalar

    @property
    def written(self) -> str:
        return f'"{self.asked}"' if isinstance(self.asked, str) else repr(self.asked)


def decided_before(broken: RefusedByCheck, case: Case) -> DecidedBefore | None:
    """The check compares an argument of the failing call with what the library has stored for it,
    and the run passed one other call of the same constructor."""
    call, source = case.node(broken.use), case.source(broken.use.place)
    if source is None or not isinstance(call, ast.Call):
        return None
    values = {side.value.text: side.value.scalar for side in broken.operands}
    stored = {text.removeprefix("self.").lstrip("_") for text in values if text.startswith("self.")}
    named = [word.arg for word in call.keywords if word.arg in values and word.arg in stored]
    name = source.imported(call.func)
    others = [
        case.expression(other, known)
        for other in case.recording.sources()
        for known in (other.calls_of(name) if name else ())
        if known is not call
    ]
    asked = values[named[0]] if len(named) == 1 else None
    if len(others) != 1 or asked is None or not was_passed(others[0], case):
        return None
    return DecidedBefore(others[0], named[0] or "", asked)


def was_passed(call: Expression, case: Case) -> bool:
    place = call.place
    passed = case.ask(EarlierEvaluations, file=place.file, line=place.line, texts=[])
    return passed is not None and bool(passed.passed)
