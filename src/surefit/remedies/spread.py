"""`model(**batch)` with the keys alone that the call takes."""

import ast
from dataclasses import dataclass

from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.remedies.arguments import call_at
from surefit.remedies.change import Operator
from surefit.source.patches import Edit, Replace

MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveOnly(Operator):
    """Few keys by name; of many, all but the strange ones."""

    at: Written | None
    taken: tuple[str, ...]
    strange: tuple[str, ...]

    @property
    def words(self) -> str:
        return "Give only what it takes."

    def edit(self, case: Case) -> Edit | None:
        source, call = call_at(case, self.at)
        batch = spread_of(call) if call is not None else None
        if source is None or call is None or batch is None:
            return None
        text = self.text(source.segment(batch.value), call, batch)
        return Edit(source.file, (Replace(source.span(batch), text),))

    def text(self, of: str, call: ast.Call, batch: ast.keyword) -> str:
        others = {keyword.arg for keyword in call.keywords}
        own = [name for name in self.taken if name not in others]
        if isinstance(batch.value, ast.Name | ast.Attribute) and 0 < len(own) <= MOST_NAMED:
            return ", ".join(f'{name}={of}["{name}"]' for name in own)
        left = ", ".join(f'"{name}"' for name in self.strange)
        return f"**{{key: value for key, value in {of}.items() if key not in ({left},)}}"


def spread_of(call: ast.Call) -> ast.keyword | None:
    """`**batch`, if there is just one."""
    spread = [keyword for keyword in call.keywords if keyword.arg is None]
    return spread[0] if len(spread) == 1 else None
