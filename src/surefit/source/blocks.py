"""The statements of a `with` block without the block."""

import ast

from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source
from surefit.source.spans import Span


def unwrapped(source: Source, block: ast.With) -> Edit | None:
    """The statements of a block one step to the left, and its head gone."""
    if len(block.items) != 1 or block.body[0].lineno == block.lineno:
        return None
    shift = source.span(block.body[0]).column - source.span(block).column
    first, last = block.body[0].lineno, block.body[-1].end_lineno or 0
    if shift <= 0 or is_text_over_lines(block):
        return None
    head = Replace(Span(block.lineno, 0, first, 0), "")
    moved = [
        Replace(Span(line, 0, line, shift), "")
        for line in range(first, last + 1)
        if source.lines[line - 1][:shift].strip() == "" and len(source.lines[line - 1]) >= shift
    ]
    return Edit(source.file, (head, *moved))


def is_text_over_lines(block: ast.With) -> bool:
    """A string that goes over several lines would change with them."""
    return any(
        isinstance(node, ast.Constant | ast.JoinedStr) and node.lineno != node.end_lineno
        for node in ast.walk(block)
    )
