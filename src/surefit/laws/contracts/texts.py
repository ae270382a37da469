"""What computes with numbers takes no text: not even one that reads as a number."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Operand, Violation
from surefit.doctor.words import code
from surefit.laws.case import Case, use_of
from surefit.source import snippets

NUMBER = re.compile(r"\s*[-+]?(\d[\d_]*\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
LISTED = 3
"""Frames from the innermost outwards in which the text may have been met."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberIsText(Violation):
    """A number that is still text where it is compared, multiplied or given as a size."""

    operand: Operand
    written: str
    """The text itself: `3e-3`."""

    @property
    def is_integer(self) -> bool:
        return self.written.strip().lstrip("+-").isdigit()


def violations_of(case: Case) -> Iterator[NumberIsText]:
    if case.crash is None or case.own is None or case.crash.kind not in ("TypeError", "ValueError"):
        return
    for number, frame in list(enumerate(case.frames))[: -LISTED - 1 : -1]:
        for value in texts_in(frame):
            operand = Operand(value=value, name=code(value.text), frame=number)
            yield NumberIsText(use=use_of(case.own), operand=operand, written=str(value.scalar))
            return


def texts_in(frame: Frame) -> list[Value]:
    """Texts that read as numbers, among what the failing expression computes with."""
    computed = list(computed_with(frame.expression or frame.line))
    values = [value for text in computed if (value := frame.value(text)) is not None]
    return [
        value
        for value in values
        if isinstance(value.scalar, str) and NUMBER.fullmatch(value.scalar)
    ]


def computed_with(expression: str) -> Iterator[str]:
    """Operands of comparisons and of arithmetic, and arguments, as they are written."""
    plain = expression.strip().rstrip(":").removeprefix("if ").removeprefix("elif ")
    whole = snippets.statement(plain)
    for node in ast.walk(whole) if whole is not None else ():
        sides: list[ast.expr] = []
        match node:
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                if not any(isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) for op in ops):
                    sides = [left, *comparators]
            case ast.BinOp(left=left, right=right, op=op) if not isinstance(op, ast.Mod):
                sides = [left, right]
            case ast.UnaryOp(operand=operand, op=ast.USub()):
                sides = [operand]
            case ast.Call(args=args, keywords=keywords):
                sides = [*args, *(keyword.value for keyword in keywords)]
        for side in sides:
            if isinstance(side, ast.Name | ast.Attribute | ast.Subscript):
                yield ast.unparse(side)
