"""Long texts cut where they are tokenized."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.violations import Written
from surefit.laws.case import Case
from surefit.remedies.arguments import call_at
from surefit.source.edits import argument_added
from surefit.source.patches import Edit, both


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncate:
    """`truncation=True, max_length=...` in a call of a tokenizer: tokens are lost, so that the user
    chooses it."""

    at: Written | None
    length: int
    words: str
    must: Condition | None = None
    choice: bool = True

    def edit(self, case: Case) -> Edit | None:
        source, call = call_at(case, self.at)
        if source is None or call is None:
            return None
        return both(
            argument_added(source, call, "truncation", "True"),
            argument_added(source, call, "max_length", str(self.length)),
        )
