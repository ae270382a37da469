"""Lines of the user's at which a proof run writes down values, because a condition must see them.

The environment names them. Each gets a call before or behind its statement, at the position of the
statement, so that no line number moves.
"""

import ast
import builtins
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from surefit.doctor.findings import Place
from surefit.doctor.observations import Passed, Watchpoint
from surefit.observe.inside import spool
from surefit.observe.inside.autopsy import expressions
from surefit.observe.inside.autopsy.values import describe

WATCH = "SUREFIT_WATCH"
"""Environment: a list of watchpoints, each with the lines of the patched file that are meant."""
PASSED = "__surefit_passed__"
MOST_TIMES = 200
"""Each of them is written down so often."""


@dataclass(slots=True)
class Watched:
    """A watchpoint where it stands in the file that is run."""

    watchpoint: Watchpoint
    first: int
    last: int
    times: int = 0

    def is_in(self, file: str) -> bool:
        """By the end of its path: a copy stands in another folder."""
        return os.path.abspath(file).endswith(os.sep + self.watchpoint.place.file.lstrip(os.sep))


@cache
def watched() -> list[Watched]:
    raw = os.environ.get(WATCH)
    return [_read(one) for one in json.loads(raw)] if raw else []


def _read(raw: dict[str, Any]) -> Watched:
    place = Place(**raw["place"])
    watchpoint = Watchpoint(place, tuple(raw["texts"]), raw["after"])
    return Watched(watchpoint, raw["first"], raw["last"])


def as_environment(watchpoint: Watchpoint, lines: range) -> dict[str, Any]:
    """The other way: what `watched` reads."""
    return {
        "place": {"file": watchpoint.place.file, "line": watchpoint.place.line},
        "texts": watchpoint.texts,
        "after": watchpoint.after,
        "first": lines.start,
        "last": lines.stop - 1,
    }


def put_in(tree: ast.Module, file: str) -> None:
    """Calls at the watched statements of a file that is about to be compiled."""
    for number, one in enumerate(watched()):
        if one.watchpoint.place.line is not None and one.is_in(file):
            for block, statement in list(_statements(tree, one)):
                call = _call(number, statement)
                at = block.index(statement)
                after = one.watchpoint.after and not isinstance(statement, ast.Return | ast.Raise)
                block.insert(at + 1 if after else at, call)


def _statements(tree: ast.Module, one: Watched) -> Iterator[tuple[list[ast.stmt], ast.stmt]]:
    """Simple statements on these lines, each with the block that it stands in."""
    for node in ast.walk(tree):
        for block in vars(node).values():
            if isinstance(block, list):
                for statement in block:
                    if _is_on(statement, one):
                        yield block, statement


def _is_on(node: object, one: Watched) -> bool:
    if not isinstance(node, ast.stmt) or hasattr(node, "body"):
        return False
    return node.lineno <= one.last and (node.end_lineno or node.lineno) >= one.first


def _call(number: int, at: ast.stmt) -> ast.stmt:
    call = ast.Expr(ast.Call(ast.Name(PASSED, ast.Load()), [ast.Constant(number)], []))
    return ast.fix_missing_locations(ast.copy_location(call, at))


@spool.guarded("values at a watched line")
def passed(number: int) -> None:
    one = watched()[number]
    one.times += 1
    if one.times > MOST_TIMES:
        return
    frame = sys._getframe(2)
    found = []
    for text in one.watchpoint.texts:
        value = expressions.read(ast.parse(text, mode="eval").body, frame)
        if value is not expressions.MISSING:
            found.append(describe(value, text))
    spool.saw(Passed(spool.process(), one.watchpoint, steps_taken(), tuple(found)))
    expressions.let_go()


def steps_taken() -> int:
    steps = sys.modules.get("surefit.observe.inside.training.steps")
    return int(steps.taken()) if steps else 0


def install() -> None:
    setattr(builtins, PASSED, passed)
