"""Functions that stand before or in the place of a library's, and are not seen to do so.

A frame more would move the line that a warning of the library names (`stacklevel` counts frames),
and would stand in every traceback that a program prints of its own accord.
"""

import dis
import functools
import os
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import Any

from surefit.observe.inside import compiling, spool
from surefit.observe.inside.after_import import after_import

Begin = Callable[[tuple[Any, ...], dict[str, Any]], bool]
End = Callable[[tuple[Any, ...], Any], None]

FILE = "<surefit, internal as importlib._bootstrap>"
"""`warnings` passes over frames of a file with these two last words when it counts."""
OBSERVER = str(Path(__file__).parent) + os.sep


def _nothing(_args: tuple[Any, ...], _result: Any) -> None:
    pass


def around(plain: Callable[..., Any], begin: Begin, end: End = _nothing) -> Callable[..., Any]:
    """Stands before `plain`, with its name and source: `begin` is called before it and, if that
    says so, `end` after it, with what it gave back (None if it raised). If they fail, it is called
    all the same."""
    # By closure: the globals of this function will be those of `plain`.
    compiler, name, could_not = compiling, plain.__name__, spool.could_not

    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if compiler.is_traced() or compiler.state._is_compiling_flag:
            return plain(*args, **kwargs)
        begun = False
        try:
            begun = begin(args, kwargs)
        except Exception as error:  # noqa: BLE001 - see above
            could_not(f"calls of {name}", error)
        result = None
        try:
            result = plain(*args, **kwargs)
            return result
        finally:
            if begun:
                try:
                    end(args, result)
                except Exception as error:  # noqa: BLE001 - see above
                    could_not(f"calls of {name}", error)

    assert isinstance(plain, FunctionType)
    code = wrapper.__code__.replace(co_filename=_beside(plain.__code__.co_filename))
    # `torch.jit.script` compiles the source of `plain` with the globals of what it was given.
    dressed = FunctionType(code, plain.__globals__, closure=wrapper.__closure__)
    return functools.update_wrapper(dressed, plain)


def hook(function: Callable[..., Any], library: ModuleType) -> Callable[..., Any]:
    """For a function that a library calls: the compiler takes it for one of the library's own."""
    assert isinstance(function, FunctionType)
    code = function.__code__
    function.__code__ = code.replace(co_filename=_beside(library.__file__ or ""))
    return function


def _beside(file: str) -> str:
    """The compiler traces into a function or passes over it by the folder of its file."""
    return os.path.join(os.path.dirname(file), FILE)


@after_import("torch._dynamo.trace_rules")
def not_compiled(module: ModuleType) -> None:
    """Where a compiled function calls what is not compiled, the compiler tries the functions below
    it; not those of surefit."""
    module.add("surefit.observe")


def stands_for(ours: Callable[..., Any], plain: Callable[..., Any]) -> None:
    """For a function that does itself what `plain` does: in tracebacks it is `plain`, at the line
    of its last call."""
    assert isinstance(ours, FunctionType)
    assert isinstance(plain, FunctionType)
    functools.update_wrapper(ours, plain)
    was = plain.__code__
    ours.__code__ = ours.__code__.replace(
        co_filename=was.co_filename,
        co_name=was.co_name,
        co_qualname=was.co_qualname,
        co_firstlineno=was.co_firstlineno,
        co_linetable=_all_at(_last_call(was), was.co_firstlineno, len(ours.__code__.co_code) // 2),
    )


def _last_call(code: CodeType) -> dis.Positions:
    calls = [one.positions for one in dis.get_instructions(code) if one.opname.startswith("CALL")]
    found = calls[-1]
    if found is None or None in found:
        raise ValueError(f"{code.co_qualname} has no positions")
    return found


def _all_at(where: dis.Positions, first_line: int, units: int) -> bytes:
    """A table of locations in which every instruction stands at one place.

    An entry has a first byte (kind 14, all four numbers, for up to eight instructions), then the
    line from the one before, lines to its end, column and end column, each plus one.
    """
    line, end_line, column, end_column = (int(number or 0) for number in where)
    table = bytearray()
    while units > 0:
        table.append(0x80 | 14 << 3 | min(units, 8) - 1)
        table += _number((line - first_line) << 1)
        table += _number(end_line - line) + _number(column + 1) + _number(end_column + 1)
        units, first_line = units - 8, line
    return bytes(table)


def _number(value: int) -> bytes:
    """Six bits a byte, the lowest first; a further byte follows where bit six is set."""
    parts = bytearray()
    while value > 0x3F:
        parts.append(0x40 | value & 0x3F)
        value >>= 6
    parts.append(value)
    return bytes(parts)


def without_surefit(traceback: TracebackType | None) -> TracebackType | None:
    """The same traceback without surefit's own frames, also those in the middle."""
    while traceback is not None and _is_ours(traceback):
        traceback = traceback.tb_next
    below = traceback
    while below is not None and below.tb_next is not None:
        if _is_ours(below.tb_next):
            below.tb_next = below.tb_next.tb_next
        else:
            below = below.tb_next
    return traceback


def _is_ours(traceback: TracebackType) -> bool:
    file = traceback.tb_frame.f_code.co_filename
    return file.endswith(FILE) or file.startswith(OBSERVER)


def strip(error: BaseException | None) -> None:
    """Takes surefit's frames out of an exception and of all that led to it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = without_surefit(error.__traceback__)
        error = error.__cause__ if error.__cause__ is not None else error.__context__
