"""What a library, or the user's own code, checks: a `raise` behind a condition."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import FailedCheck, Frame, Value
from surefit.doctor.violations import Operand, Violation
from surefit.doctor.words import code
from surefit.laws.case import Case, use_of
from surefit.source import snippets


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
    known.sort(key=lambda check: how_little(innermost, check))
    if not known:
        return
    number = len(case.frames) - 1
    values = {value.text: value for check in known for value in values_of(innermost, check)}
    yield RefusedByCheck(
        use=use_of(case.own),
        check=known[0],
        others=tuple(check for check in innermost.checks if check is not known[0]),
        function=innermost.function,
        operands=tuple(
            Operand(value=value, name=code(text), frame=number) for text, value in values.items()
        ),
    )


def values_of(frame: Frame, check: FailedCheck) -> list[Value]:
    """Operands of a check that could be read, or that the check itself says are None."""
    values = [value for text in check.operands if (value := frame.value(text)) is not None]
    absent = said_to_be_none(check)
    if not values and absent:
        return [Value(absent, "NoneType")]
    return values


def said_to_be_none(check: FailedCheck) -> str:
    """`tokenizer.mask_token` of `tokenizer.mask_token is None`, which holds."""
    match snippets.expression(check.text):
        case ast.Compare(left=left, ops=[op], comparators=[ast.Constant(value=None)]):
            kinds = (ast.Is, ast.Eq) if check.result else (ast.IsNot, ast.NotEq)
            plain = isinstance(left, ast.Name | ast.Attribute | ast.Subscript)
            return ast.unparse(left) if plain and isinstance(op, kinds) else ""
    return ""


def how_little(frame: Frame, check: FailedCheck) -> int:
    """Two sides tell the most; a flag that is set only says that the check was made at all."""
    values = values_of(frame, check)
    if len(values) > 1:
        return 0
    flag = isinstance(snippets.expression(check.text), ast.Name | ast.Attribute)
    return 2 if flag and values[0].kind == "bool" else 1
