"""What a library, or the user's own code, checks: a `raise` behind a condition."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import FailedCheck, Frame
from surefit.doctor.violations import Operand, Violation
from surefit.doctor.words import code
from surefit.laws.case import Case, use_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedByCheck(Violation):
    """A condition that was read at the `raise`, with the values that it compares."""

    check: FailedCheck
    """The innermost condition of which a value is known."""
    others: tuple[FailedCheck, ...]
    """Conditions around it."""
    function: str
    """That raises."""
    operands: tuple[Operand, ...]


def violations_of(case: Case) -> Iterator[RefusedByCheck]:
    innermost = case.frames[-1] if case.frames else None
    if innermost is None or case.own is None:
        return
    known = [check for check in innermost.checks if values_of(innermost, check)]
    known.sort(key=lambda check: len(values_of(innermost, check)) < 2)  # two sides tell the most
    if not known:
        return
    number = len(case.frames) - 1
    texts = dict.fromkeys(text for check in known for text in values_of(innermost, check))
    operands = [
        Operand(value=value, name=code(text), frame=number)
        for text in texts
        if (value := innermost.value(text)) is not None
    ]
    yield RefusedByCheck(
        use=use_of(case.own),
        check=known[0],
        others=tuple(check for check in innermost.checks if check is not known[0]),
        function=innermost.function,
        operands=tuple(operands),
    )


def values_of(frame: Frame, check: FailedCheck) -> list[str]:
    """Operands of a check that could be read."""
    return [text for text in check.operands if frame.value(text) is not None]
