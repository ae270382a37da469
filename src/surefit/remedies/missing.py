"""Rows without a text: left out where a table is read."""

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
        if self.kind == "DataFrame":
            names = ", ".join(f'"{name}"' for name in self.columns)
            return appended(source, node, f".dropna(subset=[{names}]).reset_index(drop=True)")
        test = " and ".join(f'row["{name}"] is not None' for name in self.columns)
        return appended(source, node, f".filter(lambda row: {test})")
