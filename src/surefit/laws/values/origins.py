"""Where the parts of an expression came from: the lines that assigned or made them."""

import ast

from surefit.doctor.observations import Frame, Value
from surefit.source import snippets
from surefit.source.definitions import definition
from surefit.source.reading import Source

LONGEST = 80


def names_in(text: str) -> set[str]:
    """Every name, attribute and subscript in an expression or a statement, as `ast` writes it."""
    whole = snippets.statement(text.strip().rstrip(":"))
    kinds = ast.Name | ast.Attribute | ast.Subscript | ast.Call
    nodes = ast.walk(whole) if whole is not None else ()
    return {ast.unparse(node) for node in nodes if isinstance(node, kinds)}


def came_from(value: Value, frame: Frame, source: Source | None) -> str:
    """`, from line 15: first = self.left(left)`; empty where the source does not tell."""
    if value.made_at is not None:
        return f", made at {value.made_at}"
    statement = source.statement_at(frame.place.line or 0) if source else None
    if source is None or statement is None:
        return ""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id == value.text:
            made = definition(source, node)
            if made is not None:
                text = " ".join(source.segment(source.statement_of(made)).split())
                short = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
                return f", from line {made.lineno}: {short}"
    return ""
