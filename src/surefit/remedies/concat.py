"""`pandas.concat` in place of `table.append(rows)`: what is appended becomes a table, too."""

import ast
from dataclasses import dataclass

from surefit.doctor.conditions.grown import RowsAdded
from surefit.doctor.findings import Place
from surefit.doctor.observations import Frame, Value
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.source.edits import replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True)
class Concat:
    """Of an `append` of one row or of a table; what it is must be known from the frame."""

    source: Source
    method: ast.Attribute
    frame: Frame
    choice: bool = False

    @property
    def words(self) -> str:
        rows = self.rows
        if rows is None:
            return (
                "Use `pandas.concat([table, rows], ignore_index=True)`, where `rows` is a table,"
                " too."
            )
        return (
            f"Use `{self.pandas}.concat`, which joins tables: what is appended becomes one, of"
            f" {counted(rows[1], 'row')}."
        )

    @property
    def must(self) -> RowsAdded | None:
        statement, table, rows = self.statement, self.table, self.rows
        if rows is None or table is None or table.length is None or self.target is None:
            return None
        place = Place(self.source.file, statement.lineno)
        return RowsAdded(place, ast.unparse(self.target), table.length, rows[1])

    def edit(self, case: Case) -> Edit | None:  # noqa: ARG002 - as every remedy
        call, rows = self.call, self.rows
        if call is None or rows is None or self.must is None:
            return None
        text = rows[0].format(pandas=self.pandas, rows=self.source.segment(call.args[0]))
        others = "".join(f", {self.source.segment(word)}" for word in call.keywords)
        owner = self.source.segment(self.method.value)
        return replaced(self.source, call, f"{self.pandas}.concat([{owner}, {text}]{others})")

    @property
    def statement(self) -> ast.stmt:
        return self.source.statement_of(self.method)

    @property
    def target(self) -> ast.expr | None:
        targets = self.statement.targets if isinstance(self.statement, ast.Assign) else []
        plain = [node for node in targets if isinstance(node, ast.Name | ast.Attribute)]
        return plain[0] if len(plain) == len(targets) == 1 else None

    @property
    def call(self) -> ast.Call | None:
        call = self.source.parents[self.method]
        return call if isinstance(call, ast.Call) and len(call.args) == 1 else None

    @property
    def table(self) -> Value | None:
        return self.value(ast.unparse(self.method.value))

    @property
    def pandas(self) -> str:
        """What the file calls it."""
        names = [
            alias.asname or alias.name
            for node in self.source.every(ast.Import)
            for alias in node.names
            if alias.name == "pandas"
        ]
        return names[0] if names else ""

    @property
    def rows(self) -> tuple[str, int] | None:
        """How a table is made of what is appended, and how many rows it has."""
        node = self.call.args[0] if self.call is not None else None
        if node is None or not self.pandas:
            return None
        value = self.value(ast.unparse(node))
        kind = "dict" if isinstance(node, ast.Dict) else value.kind if value else ""
        if kind == "dict":
            return "{pandas}.DataFrame([{rows}])", 1
        if kind == "Series":
            return "{rows}.to_frame().T.infer_objects()", 1
        if kind == "DataFrame" and value is not None and value.length is not None:
            return "{rows}", value.length
        return None

    def value(self, text: str) -> Value | None:
        return next((value for value in self.frame.values if value.text == text), None)
