"""A file that several processes read has a position of its own in each of them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import SharedHandle
from surefit.doctor.violations import Violation
from surefit.laws.case import Case, use_of

NOT_FROM_DATA = (
    *("KeyError", "IndexError", "TypeError", "AttributeError", "NameError", "UnboundLocalError"),
    *("AssertionError", "NotImplementedError", "ModuleNotFoundError", "MemoryError"),
)
"""Kinds of exceptions that do not come of bytes which were read wrongly."""
FEWEST_READERS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class HandleSharedByWorkers(Violation):
    """Workers read through a handle that was opened before they were forked."""

    handle: SharedHandle
    function: str
    """That reads."""


def violations_of(case: Case) -> Iterator[HandleSharedByWorkers]:
    crash, own = case.crash, case.own
    if crash is None or own is None or crash.kind.rpartition(".")[2] in NOT_FROM_DATA:
        return
    source = case.source(own)
    statement = source.statement_at(own.place.line) if source and own.place.line else None
    around = source.up(statement) if source is not None and statement is not None else ()
    function = next((node for node in around if isinstance(node, ast.FunctionDef)), None)
    if function is None:
        return
    read = {ast.unparse(node) for node in ast.walk(function) if is_name(node)}
    for handle in crash.handles:
        if handle.workers >= FEWEST_READERS and handle.text in read:
            yield HandleSharedByWorkers(use=use_of(own), handle=handle, function=function.name)
            return


def is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute)
