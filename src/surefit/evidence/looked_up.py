"""The user's line that hands ids to a table or to a library's model, and its words for them."""

import ast
from dataclasses import dataclass

from surefit.doctor.observations import Crash, Frame, Value
from surefit.doctor.recording import Recording
from surefit.source.edits import inserted_before, replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True)
class Entry:
    """A call of the user's that takes ids."""

    frame: Frame
    source: Source
    text: str
    """`batch["input_ids"]`, `labels[:, :-1]`: as the line, or a line before it, can write them."""
    node: ast.expr | None
    """The argument itself; None where a mapping is unpacked (`**batch`)."""
    table_text: str | None
    """`self.embed`, where the call is the table's own."""

    def replaced_ids(self, new: str) -> Edit | None:
        """Other ids in their place; `{ids}` in the text stands for them."""
        text = new.replace("{ids}", self.text)
        if self.node is not None:
            return replaced(self.source, self.node, text)
        statement = self.source.statement_at(self.frame.place.line or 0)
        if statement is None:
            return None
        try:
            return inserted_before(self.source, statement, f"{self.text} = {text}")
        except ValueError:
            return None


def entries_of(crash: Crash, seen: Recording, ids: Value, marker: int) -> list[Entry]:
    """The calls by which the ids were handed down, innermost first, without a gap."""
    found: list[Entry] = []
    for frame in reversed([one for one in crash.frames if one.own]):
        entry = entry_in(frame, seen, ids, marker)
        if entry is None:
            return found
        found.append(entry)
    return found


def entry_in(frame: Frame, seen: Recording, ids: Value, marker: int) -> Entry | None:
    """A frame's call, if one of its arguments is the ids or contains the marker as they do."""
    source = seen.source(frame.place)
    node = source.expression_at(frame.span) if source and frame.span else None
    if source is None or not isinstance(node, ast.Call):
        return None
    for one in [*node.args, *(keyword.value for keyword in node.keywords)]:
        unpacked = isinstance(one, ast.Starred) or any(
            keyword.arg is None and keyword.value is one for keyword in node.keywords
        )
        if unpacked:
            text = in_mapping(frame, one, ids)
            if text is not None:
                return Entry(frame, source, text, None, None)
        elif is_these(frame, one, ids, marker):
            text = " ".join(source.segment(one).split())
            return Entry(frame, source, text, one, table_text(frame, node, source))
    return None


def in_mapping(frame: Frame, node: ast.expr, ids: Value) -> str | None:
    """`batch["input_ids"]` for `**batch`."""
    if not isinstance(node, ast.Name):
        return None
    values = [one for one in frame.values if one.text == node.id]
    for name, member in values[0].members.items() if values else ():
        if member.identity == ids.identity:
            return f'{node.id}["{name}"]'
    return None


def is_these(frame: Frame, node: ast.expr, ids: Value, marker: int) -> bool:
    """The very tensor; or one of its shape in which the marker is the least or greatest number."""
    text = ast.unparse(node)
    value = next((one for one in frame.values if one.text == text), None)
    if value is None:
        return False
    if value.identity == ids.identity:
        return True
    same = value.shape == ids.shape and (value.least, value.greatest) == (ids.least, ids.greatest)
    return same and marker in (value.least, value.greatest)


def table_text(frame: Frame, call: ast.Call, source: Source) -> str | None:
    text = ast.unparse(call.func)
    value = next((one for one in frame.values if one.text == text), None)
    is_table = value is not None and value.layer is not None
    kinds = ("Embedding", "EmbeddingBag")
    if is_table and value is not None and value.layer is not None and value.layer.kind in kinds:
        return source.segment(call.func)
    return None
