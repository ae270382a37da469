"""Inputs named in the signature of a `forward` that takes `**kwargs` alone."""

import ast
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.words import some
from surefit.laws.case import Case
from surefit.remedies.change import Operator
from surefit.source.classes import Method, method
from surefit.source.edits import inserted_before
from surefit.source.line_edits import shares_lines
from surefit.source.patches import Edit, Replace, all_of
from surefit.source.reading import Source
from surefit.source.spans import Span


@dataclass(frozen=True, slots=True)
class Forward:
    """`forward` of a class of the user's."""

    source: Source
    function: Method

    @property
    def place(self) -> Place:
        return Place(self.source.file, self.function.lineno)

    @property
    def rest(self) -> str:
        """The name of its `**kwargs`, or empty."""
        return self.function.args.kwarg.arg if self.function.args.kwarg else ""


def forward_of(case: Case, model: str) -> Forward | None:
    for source, owner in case.recording.every(ast.ClassDef):
        function = method(source, owner, "forward") if owner.name == model else None
        if function is not None:
            return Forward(source, function)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameParameters(Operator):
    """`def forward(self, input_ids=None, **features)`, and `features` holds them as before."""

    model: str
    names: tuple[str, ...]

    @property
    def words(self) -> str:
        return f"Name the inputs in the signature: {some(self.names)}."

    def edit(self, case: Case) -> Edit | None:
        forward = forward_of(case, self.model)
        rest = forward.function.args.kwarg if forward is not None else None
        if forward is None or rest is None or not all(name.isidentifier() for name in self.names):
            return None
        source, span = forward.source, forward.source.span(rest)
        items = ", ".join(f"{name}={name}" for name in self.names)
        held = put_first(source, forward.function, f"{rest.arg}.update({items})")
        if source.lines[span.line - 1][span.column - 2 : span.column] != "**":
            return None
        signature = "".join(f"{name}=None, " for name in self.names)
        before = Span(span.line, span.column - 2, span.line, span.column - 2)
        return all_of((Edit(source.file, (Replace(before, signature),)), held))


def put_first(source: Source, function: Method, text: str) -> Edit | None:
    """A statement before all others of a function, after its docstring."""
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    body = function.body[1:] if documented else function.body
    if not body or shares_lines(source, body[0]):
        return None
    return inserted_before(source, body[0], text)
