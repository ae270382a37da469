"""An argument of a call set, taken out or given another name."""

import ast
from dataclasses import dataclass

from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.remedies.change import OperatorAt
from surefit.source.edits import argument_added, argument_removed, replaced
from surefit.source.patches import Edit, Replace
from surefit.source.reading import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class SetArgument(OperatorAt):
    """`name=value` at the end of a call, or in place of what the argument has."""

    name: str
    value: str

    def edit(self, case: Case) -> Edit | None:
        source, call = call_at(case, self.at)
        return argument_added(source, call, self.name, self.value) if source and call else None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropArgument(OperatorAt):
    """The call without one keyword argument."""

    name: str

    def edit(self, case: Case) -> Edit | None:
        source, call = call_at(case, self.at)
        if source is None or call is None or keyword_of(call, self.name) is None:
            return None
        return argument_removed(source, call, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameArgument(OperatorAt):
    """The same value under another name."""

    name: str
    to: str

    def edit(self, case: Case) -> Edit | None:
        source, call = call_at(case, self.at)
        keyword = keyword_of(call, self.name) if call is not None else None
        if source is None or keyword is None:
            return None
        value = source.segment(keyword.value)
        return Edit(source.file, (Replace(source.span(keyword), f"{self.to}={value}"),))


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveAs(OperatorAt):
    """Another value for an argument, under another name; one without a name gets it."""

    name: str
    value: Written | None
    """What is given now."""
    to: str
    text: str

    def edit(self, case: Case) -> Edit | None:
        source, call = call_at(case, self.at)
        node = case.node(self.value)
        if source is None or call is None or node is None:
            return None
        keyword = keyword_of(call, self.name)
        if keyword is not None:
            return Edit(source.file, (Replace(source.span(keyword), f"{self.to}={self.text}"),))
        last = bool(call.args) and call.args[-1] is node
        return replaced(source, node, f"{self.to}={self.text}") if last else None


def call_at(case: Case, at: Written | None) -> tuple[Source | None, ast.Call | None]:
    node, source = case.node(at), case.source(at)
    return source, node if isinstance(node, ast.Call) else None


def keyword_of(call: ast.Call, name: str) -> ast.keyword | None:
    return next((keyword for keyword in call.keywords if keyword.arg == name), None)
