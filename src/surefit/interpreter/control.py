"""How the evaluation of a script moves: paths that end, frames, budgets."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from surefit.interpreter.journal import Changes
from surefit.interpreter.values import AbstractValue, FunctionValue

MOST_STEPS = 60_000
"""Expressions that are evaluated; the rest of a longer script is not."""
DEEPEST = 14
MOST_ITERATIONS = 24
"""Of a loop whose members are all known; of others two are evaluated."""
HARMLESS = {
    *("KeyboardInterrupt", "ImportError", "ModuleNotFoundError", "FileNotFoundError", "EOFError"),
    *("FileExistsError", "OSError", "IOError", "StopIteration", "SystemExit", "UnicodeDecodeError"),
}
"""Exceptions that are caught for other reasons than a violation in a model."""
EXPECTS_A_FAILURE = ("raises", "suppress", "fail", "warns", "expect")

Flow = str | None
"""How a block was left: `return`, `break`, `continue`, `raise`; None at its end."""


class PathEnded(Exception):  # noqa: N818 - not an error: the path ends here
    """A `raise` on the path, or the end of the program."""


class BudgetExceeded(Exception):  # noqa: N818 - not an error: the script is long
    """More steps than are worth it."""


@dataclass(slots=True)
class CallFrame:
    """A function that is running."""

    function: FunctionValue | None
    receiver: AbstractValue | None = None
    returns: list[AbstractValue] = field(default_factory=list)
    early: list[Changes] = field(default_factory=list)
    """What paths had set that returned early."""
    loops: list[list[Changes]] = field(default_factory=list)
    """The same for loops that were left early."""


def until_raise(path: Callable[[], Flow]) -> Flow:
    try:
        return path()
    except PathEnded:
        return "raise"


def catches(handler: ast.ExceptHandler) -> bool:
    """Whether it can be a violation that is caught there."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = [kind.id if isinstance(kind, ast.Name) else "" for kind in kinds]
    return not all(name in HARMLESS for name in names)


def ends_in_raise(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)
