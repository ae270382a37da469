"""The statement that gives an object of a crash its name: after it, the object can be changed."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.observations import Value
from surefit.doctor.violations import Expression, Operand
from surefit.laws.case import Case
from surefit.laws.layers.vocabularies import binds, bound_name, is_dotted
from surefit.lineage.producers import ProducerKind
from surefit.source.line_edits import shares_lines
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True)
class Creation:
    """`tokenizer = AutoTokenizer.from_pretrained(...)`."""

    name: str
    source: Source
    statement: ast.stmt

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.statement.lineno, self.statement.end_lineno)

    @property
    def expression(self) -> Expression:
        """Where a line can be put after it."""
        return Expression(self.place, None, "")


def creation_of(case: Case, thing: Operand) -> Creation | None:
    """The call that created it and is assigned to a name; else the only statement that binds a name
    which the user's frames have for it."""
    for producer in case.lineage(thing).all:
        source = case.source(producer.place)
        if not producer.own or producer.kind is not ProducerKind.CALL or source is None:
            continue
        node = case.node(producer)
        statement = source.parents.get(node) if node is not None else None
        same = producer.value.kind in ("", thing.value.kind)
        name = bound_name(statement) if same else ""
        if name and isinstance(statement, ast.stmt) and not shares_lines(source, statement):
            return Creation(name, source, statement)
    return by_name(case, thing.value)


def by_name(case: Case, thing: Value) -> Creation | None:
    for frame in case.frames:
        source = case.source(frame.place) if frame.own else None
        for value in frame.values if source is not None else ():
            if value.identity != thing.identity or not is_dotted(value.text) or source is None:
                continue
            bound = [node for node in source.every(ast.stmt) if binds(node, value.text)]
            if len(bound) == 1 and not shares_lines(source, bound[0]):
                return Creation(value.text, source, bound[0])
    return None
