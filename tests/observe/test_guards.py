"""The condition that led to a `raise`, from real functions that raise."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from surefit.doctor.observations import FailedCheck
from surefit.observe.inside.autopsy import guards


def one_side(rows: list[int], limit: int) -> None:
    if len(rows) > limit:
        raise ValueError("too many")


def asserted(width: int, heads: int) -> None:
    assert width % heads == 0, "no"


def either(name: str, known: tuple[str, ...], count: int) -> None:
    if count < 0 or name not in known:
        raise KeyError(name)


def both(flag: bool, count: int) -> None:
    if flag and count == 0:
        raise RuntimeError


def otherwise(kind: object) -> None:
    if isinstance(kind, str):
        return
    elif isinstance(kind, int | float):
        print(kind)
    else:
        raise TypeError(kind)


def by_a_flag(rows: list[int]) -> None:
    fits = len(rows) == 4
    if not fits:
        raise ValueError


def in_a_loop(rows: list[Any]) -> None:
    for row in rows:
        if row is None:
            raise ValueError


def without_condition() -> None:
    raise NotImplementedError


CASES: list[tuple[Callable[..., None], tuple[Any, ...], list[FailedCheck]]] = [
    (one_side, ([1, 2, 3], 2), [FailedCheck("len(rows) > limit", True, ("rows", "limit"))]),
    (asserted, (10, 3), [FailedCheck("width % heads == 0", False, ("width", "heads"))]),
    (either, ("a", ("b",), 1), [FailedCheck("name not in known", True, ("name", "known"))]),
    (either, ("b", ("b",), -1), [FailedCheck("count < 0", True, ("count",))]),
    (
        both,
        (True, 0),
        [FailedCheck("flag", True, ("flag",)), FailedCheck("count == 0", True, ("count",))],
    ),
    (by_a_flag, ([1],), [FailedCheck("len(rows) == 4", False, ("rows",))]),
    (in_a_loop, ([1, None],), [FailedCheck("row is None", True, ("row",))]),
    (
        otherwise,
        ([],),
        [
            FailedCheck("isinstance(kind, int | float)", False, ("kind",)),
            FailedCheck("isinstance(kind, str)", False, ("kind",)),
        ],
    ),
    (without_condition, (), []),
]


@pytest.mark.parametrize(
    ("function", "given", "expected"), CASES, ids=[case[0].__name__ for case in CASES]
)
def test_what_decided(
    function: Callable[..., None], given: tuple[Any, ...], expected: list[FailedCheck]
) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - each raises its own
        function(*given)
    assert caught.tb is not None
    traceback = caught.tb
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    frame = traceback.tb_frame
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    line = traceback.tb_lineno - frame.f_code.co_firstlineno + 1
    statements = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise | ast.Assert) and node.lineno == line
    ]
    tests = guards.checks_at(statements[0], tree.body[0], frame)
    assert list(guards.as_data(tests)) == expected


def test_no_code_of_a_class_is_run() -> None:
    class Loud:
        def __len__(self) -> int:
            raise AssertionError("asked")

        def __eq__(self, other: object) -> bool:
            raise AssertionError("asked")

        __hash__ = None  # type: ignore[assignment]

    assert guards.length(Loud()) is guards.MISSING
    assert guards.compared(Loud(), ast.Eq(), 3) is guards.MISSING
    assert guards.truth(Loud()) is guards.MISSING
