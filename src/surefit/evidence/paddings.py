"""Where a script fills rows up with a number: calls that pad, and the line that sets the number."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.evidence.known_numbers import number_of, origin_of
from surefit.source.reading import MOST_NAMES, Source, called

BY_NAME = ("padding_value", "constant_values", "fill_value", "fillvalue", "value", "pad_token_id")
AT = {"full": 1, "new_full": 1, "pad": 3, "masked_fill": 1, "masked_fill_": 1, "fillna": 0}
AT |= {"full_like": 1, "pad_sequence": 2, "where": 2, "get": 1, "fill_": 0, "replace": 1}
"""Functions that take the number by its place."""


@dataclass(frozen=True, slots=True)
class Padding:
    """An expression that fills with the number, and where the number is set."""

    source: Source
    node: ast.expr
    """The number as it is given: `PAD_ID`, `-1`."""
    set_at: ast.expr
    """The number itself, followed through names."""

    @property
    def place(self) -> Place:
        statement = self.source.statement_of(self.set_at)
        if hasattr(statement, "body"):  # the default of an argument
            return Place(self.source.file, self.set_at.lineno)
        return Place(self.source.file, statement.lineno, statement.end_lineno)

    @property
    def used_at(self) -> Place:
        return Place(self.source.file, self.node.lineno)


def paddings(seen: Recording, number: int, known: Mapping[str, int]) -> list[Padding]:
    """All in the user's files, those of well-known functions first."""
    found = []
    for script in seen.all(Script):
        source = seen.source(script.file)
        for node in fillers(source) if source else ():
            if source is not None and number_of(source, node, known) == number:
                found.append(Padding(source, node, followed(source, node)))
    return found


def fillers(source: Source) -> Iterator[ast.expr]:
    """Expressions in the place of a number to fill with."""
    for call in source.every(ast.Call):
        yield from (one.value for one in call.keywords if one.arg in BY_NAME)
        at = AT.get(called(call))
        if at is not None:
            at -= 1 if at and on_itself(source, call) else 0
            yield from call.args[at : at + 1]
    for operation in source.every(ast.BinOp):
        if isinstance(operation.op, ast.Mult):
            for side in (operation.left, operation.right):
                if isinstance(side, ast.List) and len(side.elts) == 1:
                    yield side.elts[0]


def on_itself(source: Source, call: ast.Call) -> bool:
    """`x.masked_fill(mask, 0)`, `x.where(mask, 0)`: the first argument stands before the point."""
    if not isinstance(call.func, ast.Attribute) or source.imported(call.func.value):
        return False
    return called(call) in ("where",)


def followed(source: Source, node: ast.expr) -> ast.expr:
    """The expression that a name for padding, or for a plain number, has its value from: in
    `pad = VOCAB` that is `VOCAB`, which was not chosen to pad with."""
    named = False
    for _ in range(MOST_NAMES):
        origin = origin_of(source, node)
        pads = "pad" in ast.unparse(node).lower()
        if origin is None or not (pads or (is_literal(origin) and not named)):
            return node
        node, named = origin, named or pads
    return node


def is_literal(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant)
