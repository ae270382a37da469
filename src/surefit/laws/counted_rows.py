"""How an expression counts: by the greatest number, by how many different ones, by a length."""

import ast

from surefit.laws.case import Case
from surefit.laws.table_rows import TableRows
from surefit.lineage.producers import Producer
from surefit.source.reading import called

DIFFERENT = ("nunique", "unique", "set")


def how_counted(node: ast.expr | None) -> str:
    """`max` for `int(ratings.item.max())`, `count` for `ratings.item.nunique()` and
    `len(set(ids))`, `length` for `len(chars)`; empty for anything else."""
    node = first(node) if is_call(node, "int") else node
    if is_call(node, "max"):
        return "max"
    if is_call(node, "nunique") or (is_call(node, "len") and is_call(first(node), *DIFFERENT)):
        return "count"
    return "length" if is_call(node, "len") else ""


def greatest_of(case: Case, counted: Producer) -> str:
    """The greatest of what `X.nunique()`, `len(X.unique())`, `len(set(X))` count, as text."""
    node, source = case.node(counted), case.source(counted.place)
    node = first(node) if is_call(node, "int") else node
    node = first(node) if is_call(node, "len") else node
    if source is None or not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute) and not node.args:
        return f"int({source.segment(node.func.value)}.max())"
    inner = first(node)
    return f"int(max({source.segment(inner)}))" if inner is not None else ""


def length_now(rows: TableRows, greatest: int) -> int | None:
    """How long a collection is at the crash whose length was taken for the rows: it grew."""
    lengths = [
        producer.value.length
        for _, producer in rows.of(rows.birth).inputs(rows.birth)
        if producer.value.length is not None and rows.birth.name == "len"
    ]
    return next((length for length in lengths if length > greatest), None)


def is_call(node: ast.expr | None, *names: str) -> bool:
    return isinstance(node, ast.Call) and called(node) in names


def first(node: ast.expr | None) -> ast.expr | None:
    return node.args[0] if isinstance(node, ast.Call) and node.args else None
