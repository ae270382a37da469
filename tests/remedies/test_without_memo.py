"""Values that are kept after they were computed once, computed every time."""

import ast
import textwrap

from surefit.laws.training.carriers import Carrier
from surefit.remedies.without_memo import memo_of, without_memo
from surefit.source.edits import patched
from surefit.source.reading import Source


def mended(text: str, name: str) -> str | None:
    source = Source("train.py", textwrap.dedent(text))
    statement = next(
        node
        for node in source.every(ast.Assign)
        if name in ast.unparse(node.targets[0]) and not isinstance(node.value, ast.Constant)
    )
    memo = memo_of(Carrier(source, statement, name))
    edit = without_memo(source, memo) if memo is not None else None
    return patched(edit, source.text) if edit is not None else None


LOOKED_UP = """\
class Table:
    def forward(self, n):
        if self.kept is not None:
            return self.kept
        table = self.weight * n
        self.kept = table
        return table
"""
COMPUTED = """\
class Table:
    def forward(self, n):
        if self.kept is None:
            scale = 2 * n
            self.kept = self.weight * scale
        return self.kept
"""
STATE = """\
class Cell:
    def forward(self, x):
        if self.kept is None:
            self.kept = torch.zeros(3)
        out = x
        self.kept = self.cell(out, self.kept)
        return self.kept
"""


def test_a_lookup_is_taken_out() -> None:
    after = mended(LOOKED_UP, "self.kept")
    assert after is not None
    assert "if self.kept" not in after
    assert "self.kept = table" in after


def test_what_is_computed_once_is_computed_always() -> None:
    after = mended(COMPUTED, "self.kept")
    assert after is not None
    assert "        scale = 2 * n\n        self.kept = self.weight * scale\n" in after
    assert "if " not in after


def test_a_state_is_no_memo() -> None:
    source = Source("train.py", STATE)
    statement = source.statement_at(6)
    assert isinstance(statement, ast.Assign)
    assert memo_of(Carrier(source, statement, "self.kept")) is None
