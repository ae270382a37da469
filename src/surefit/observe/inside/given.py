"""What functions of libraries are given in a proof run, because a condition must see it.

A watchpoint without a line names a function (`torch.nn.functional.embedding`); its texts are names
of arguments.
"""

import inspect
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from surefit.doctor.observations import Passed, Value
from surefit.observe.inside import spool, watchpoints
from surefit.observe.inside.after_import import after_import
from surefit.observe.inside.autopsy.values import describe
from surefit.observe.inside.unseen import around

MOST_TIMES = 20_000
"""Each function's calls are written down so often."""
MOST_NUMBERS = 1_000_000


def install() -> None:
    for one in watchpoints.watched():
        if one.watchpoint.place.line is None:
            module, owner, name = parted(one.watchpoint.place.file)
            after_import(module)(patch(one, owner, name))


def parted(function: str) -> tuple[str, str, str]:
    """Module, class (or nothing) and name."""
    before, _, name = function.rpartition(".")
    outer, _, last = before.rpartition(".")
    return (outer, last, name) if last[:1].isupper() else (before, "", name)


def patch(one: watchpoints.Watched, owner: str, name: str) -> Callable[[ModuleType], None]:
    def put_in(module: ModuleType) -> None:
        holder = getattr(module, owner) if owner else module
        plain = getattr(holder, name)
        signature = inspect.signature(plain)

        def called(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
            one.times += 1
            if one.times > MOST_TIMES:
                return False
            try:
                arguments = signature.bind_partial(*args, **kwargs).arguments
            except TypeError:
                return False  # the call is wrong, and fails by itself
            note(one, arguments)
            return False

        setattr(holder, name, around(plain, called))

    return put_in


def note(one: watchpoints.Watched, arguments: dict[str, Any]) -> None:
    texts = [text for text in one.watchpoint.texts if text in arguments]
    values = tuple(described(arguments[text], text) for text in texts)
    step = watchpoints.steps_taken()
    spool.saw(Passed(spool.process(), one.watchpoint, step, values))


def described(value: object, text: str) -> Value:
    """Of a list of whole numbers, or of such lists, the least and the greatest, too."""
    if type(value) not in (list, tuple):
        return describe(value, text)
    numbers = list(whole_numbers(value))
    least, greatest = (min(numbers), max(numbers)) if numbers else (None, None)
    return Value(text, type(value).__name__, id(value), least=least, greatest=greatest)


def whole_numbers(value: Any) -> Iterable[int]:
    for one in value[:MOST_NUMBERS]:
        if type(one) in (list, tuple):
            yield from whole_numbers(one)
        elif type(one) is int:
            yield one
        elif hasattr(one, "dtype") or hasattr(one, "shape"):
            seen = describe(one, "")
            yield from (int(end) for end in (seen.least, seen.greatest) if end is not None)
