"""Settings by their name: the user's call that passes an argument under the name of an operand."""

import ast

from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression
from surefit.laws.case import Case


def passed_as(text: str, value: Value, case: Case) -> Expression | None:
    """`total_steps=len(loader)` for the operand `self.total_steps`, where just one call of the
    user's has such an argument, and it is not written as another number."""
    passed = argument_named(text, case)
    node = case.node(passed)
    if passed is None or (isinstance(node, ast.Constant) and node.value != value.scalar):
        return None
    name = text.rpartition(".")[2]
    return Expression(passed.place, passed.span, f"{name}={passed.text}")


def argument_named(text: str, case: Case) -> Expression | None:
    """The value of the only argument in the user's source with the name of an operand."""
    name = text.rpartition(".")[2]
    passed = [
        (source, keyword.value)
        for source, keyword in case.recording.every(ast.keyword)
        if keyword.arg == name
    ]
    return case.expression(*passed[0]) if len(passed) == 1 else None


def flag_declared(text: str, case: Case) -> Expression | None:
    """`parser.add_argument("--lr", ...)` for `args.lr`, where it declares no type."""
    name = text.rpartition(".")[2]
    for source, call in case.recording.every(ast.Call):
        match call:
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=args):
                flags = [
                    flag.value.lstrip("-").replace("-", "_")
                    for flag in args
                    if isinstance(flag, ast.Constant) and isinstance(flag.value, str)
                ]
                typed = any(keyword.arg in ("type", "action") for keyword in call.keywords)
                if name in flags and not typed:
                    return case.expression(source, call)
    return None
