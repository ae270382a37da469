"""A list is taken: of texts by a tokenizer, or of anything by what adds, changes or writes one."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Frame, Value
from surefit.doctor.violations import Operand, Violation
from surefit.doctor.words import code
from surefit.laws.case import Case, use_of
from surefit.source.reading import Source, dotted

TOKENIZING = r"transformers/tokenization|transformers/models/.*/tokenization"
COLUMN = "Column"
ARRAYS = ("Series", "ndarray", "ArrowStringArray", "StringArray", "NumpyExtensionArray")
TEXTS = ("object", "str", "string", "<U", "StringDType")
OF_LISTS = ("append", "extend", "insert", "pop", "remove", "reverse", "sort", "copy", "clear")
OF_TABLES = ("tolist", "to_list", "astype", "shape", "numpy", "mean", "max", "min", "to_numpy")
CHANGING = ("shuffle", "dumps", "dump")
"""Functions that need a list itself: they change it, or write it by its class."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnForList(Violation):
    """A column of a dataset or a table stands where a list is taken."""

    columns: tuple[Operand, ...]
    taken_by: str
    """What takes a list, in backticks."""

    @property
    def rows(self) -> int:
        return sum(rows_of(column.value) for column in self.columns)


def rows_of(value: Value) -> int:
    return value.length or (value.shape or (0,))[0]


def violations_of(case: Case) -> Iterator[Violation]:
    own, source, node = case.own, case.source(case.own), case.node(case.own)
    if own is None or source is None or node is None:
        return
    taken_by, parts = taken(case, own, source, node)
    columns = tuple(
        Operand(
            value=value,
            name=code(source.segment(part)),
            frame=case.number,
            use=case.expression(source, part),
        )
        for part in parts
        if (value := own.value(ast.unparse(part))) is not None
    )
    if columns:
        yield ColumnForList(use=use_of(own), columns=columns, taken_by=taken_by)


def taken(case: Case, own: Frame, source: Source, node: ast.expr) -> tuple[str, list[ast.expr]]:
    """What takes a list in the failing expression, and the columns that it was given."""
    if isinstance(node, ast.BinOp):
        sides = [side for side in (node.left, node.right) if kind_of(own, side) == COLUMN]
        return code(source.segment(node)), sides
    method = node.func if isinstance(node, ast.Call) else node
    if isinstance(method, ast.Attribute) and kind_of(own, method.value) == COLUMN:
        asked = method.attr in (*OF_LISTS, *OF_TABLES)
        return f"`.{method.attr}`", [method.value] if asked else []
    if not isinstance(node, ast.Call) or case.crash is None:
        return "", []
    below = case.frames[case.number + 1 :]
    tokenizes = any(re.search(TOKENIZING, frame.place.file) for frame in below)
    changes = dotted(node.func).rpartition(".")[2] in CHANGING and case.crash.kind == "TypeError"
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    columns = [
        part
        for part in given
        if (tokenizes and is_column(own.value(ast.unparse(part))))
        or (changes and kind_of(own, part) == COLUMN)
    ]
    return code(source.segment(node.func)), columns


def is_column(value: Value | None) -> bool:
    """Of texts, where its dtype is known."""
    if value is not None and value.kind in ARRAYS:
        return (value.dtype or "").startswith(TEXTS)
    return value is not None and value.kind == COLUMN


def kind_of(frame: Frame, node: ast.expr) -> str:
    value = frame.value(ast.unparse(node))
    return value.kind if value is not None else ""
