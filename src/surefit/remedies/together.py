"""Several changes of one file that only make sense together."""

from dataclasses import dataclass

from surefit.laws.case import Case, Remedy
from surefit.remedies.change import Operator
from surefit.source.patches import Edit, both


@dataclass(frozen=True, slots=True, kw_only=True)
class Together(Operator):
    """All of them, or none where one does not find its place or stands in another file."""

    parts: tuple[Remedy, ...]
    words: str

    def edit(self, case: Case) -> Edit | None:
        whole: Edit | None = None
        for part in self.parts:
            edit = part.edit(case)
            if edit is None or (whole is not None and edit.file != whole.file):
                return None
            whole = edit if whole is None else both(whole, edit)
        return whole
