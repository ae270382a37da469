"""Targets in the source that are computed from what was written into before: `ids[picked] = mask`,
and after it `labels = ids.masked_fill(~picked, -100)`, also by another name of the same memory."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.laws.evaluation.evaluation_names import words_of
from surefit.laws.rows.permuted_names import LABEL_WORDS
from surefit.source.in_place import written_text
from surefit.source.line_edits import block_of
from surefit.source.reading import Source, dotted, targets


@dataclass(frozen=True, slots=True)
class OverwrittenTarget:
    """In one block."""

    source: Source
    write: ast.stmt
    target: ast.Assign
    """The statement that makes the targets, after the write."""
    alias: ast.Assign | None
    """`original = ids`, before the write."""

    @property
    def place(self) -> ast.stmt:
        return self.alias or self.target


def overwritten_targets(source: Source) -> Iterator[OverwrittenTarget]:
    for target in source.every(ast.Assign):
        names = {node.id for node in ast.walk(target.value) if isinstance(node, ast.Name)}
        if not any(words_of(dotted(entry)) & LABEL_WORDS for entry in targets(target)):
            continue
        block = block_of(source, target)
        before = block[: block.index(target)]
        for write in before:
            written = written_text(source, write)
            if written is None or words_of(written) & LABEL_WORDS:
                continue
            assigned = (known for known in before if isinstance(known, ast.Assign))
            alias = next((known for known in assigned if is_alias(known, written, names)), None)
            early = alias is not None and block.index(alias) < block.index(write)
            if early or written in names:
                yield OverwrittenTarget(source, write, target, alias if early else None)


def is_alias(statement: ast.Assign, written: str, names: set[str]) -> bool:
    """`original = ids`, where one of the two is written into and the other is read for targets."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)):
            return {name, other} > {written} and bool(({name, other} - {written}) & names)
    return False
