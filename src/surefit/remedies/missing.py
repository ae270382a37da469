"""Rows without a text: left out where a table is read, or given an empty text there."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.source.edits import appended, wrapped
from surefit.source.patches import Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveOut:
    """Rows in which one of these columns is missing; all others stay, in their order."""

    at: Written | None
    kind: str
    """`DataFrame`, `Dataset` or `list`."""
    columns: tuple[str, ...]
    words: str
    must: Condition | None = None
    choice: bool = True

    def edit(self, case: Case) -> Edit | None:
        node, source = case.node(self.at), case.source(self.at)
        if node is None or source is None:
            return None
        if self.kind == "list":
            test = " and ".join(f'isinstance(row["{name}"], str)' for name in self.columns)
            return wrapped(source, node, "[row for row in ", f" if {test}]")
        test = " and ".join(f'row["{name}"] is not None' for name in self.columns)
        method = f".filter(lambda row: {test})"
        if self.kind == "DataFrame":
            names = ", ".join(f'"{name}"' for name in self.columns)
            method = f".dropna(subset=[{names}]).reset_index(drop=True)"
        return appended(source, node, method)


@dataclass(frozen=True, slots=True, kw_only=True)
class FillTexts:
    """An empty text in a column of a DataFrame, where it is missing."""

    at: Written | None
    columns: tuple[str, ...]
    words: str = "If an empty text means something, give it to these rows there."
    must: Condition | None = None
    choice: bool = True

    def edit(self, case: Case) -> Edit | None:
        node, source = case.node(self.at), case.source(self.at)
        if node is None or source is None:
            return None
        empty = ", ".join(f'"{name}": ""' for name in self.columns)
        return appended(source, node, f".fillna({{{empty}}})")
