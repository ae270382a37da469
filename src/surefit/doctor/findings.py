"""What surefit found: one fault at one place, with what was seen, why, and what to do."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from surefit.doctor.conditions.condition import Condition
    from surefit.source.edits import Edit


class Severity(StrEnum):
    """How much a finding matters: an error makes the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a person must look: a file and, where it has lines or rows, which one, from 1."""

    file: str
    line: int | None = None
    end_line: int | None = None
    row: int | None = None
    """For files without lines (Parquet, Arrow): the row, from 1."""
    cell: int | None = None
    """Of a notebook: its cells with code in them, from 1; lines are counted in the cell."""
    index: int | None = None
    """Of rows that are in memory: which one, from 0 as in Python; `file` names the argument."""
    column: int | None = field(default=None, compare=False)
    """Of the first character that is meant, from 1; a place is the same without it."""
    end_column: int | None = field(default=None, compare=False)
    """On the last line: of the character after the last one."""

    def __str__(self) -> str:
        if self.index is not None:
            return f"{self.file}[{self.index}]"
        if self.cell is not None:
            line = "" if self.line is None else f", line {self.line}"
            return f"{self.file}, cell {self.cell}{line}"
        if self.line is not None:
            return f"{self.file}:{self.line}"
        if self.row is not None:
            return f"{self.file}, row {self.row}"
        return self.file


COMMAND_LINE = Place("command line")


@dataclass(frozen=True, slots=True)
class Fact:
    """One measured thing, in the user's own names and numbers."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Proof:
    """How a fix was tried, or why it was not."""

    status: Literal["held", "failed", "not-tried"]
    said: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that the user can make.

    A rule gives the edit of the source, and what must hold after it; `patch` is the same edit as a
    unified diff, and `proof` how it was tried.
    """

    text: str
    edit: "Edit | None" = None
    must: "Condition | None" = None
    why_not_tried: str = ""
    """Where there is no edit, or nothing that must hold after it."""
    patch: str | None = None
    proof: Proof | None = None
    shown: str | None = None
    """Of a notebook: the diff of its cells, for people; `patch` is one of the file."""
    place: Place | None = None
    """Where its edit is made, if not at the place of the finding."""
    choice: bool = False
    """Several fixes are legitimate, or this one changes sizes, rows or targets: it is tried all the
    same, and the decision is the user's."""

    @property
    def has_held(self) -> bool:
        return self.proof is not None and self.proof.status == "held"

    @property
    def as_choice(self) -> "Fix":
        """The same; a fix that could be tried and has a reason not to be is the user's choice, with
        that reason in its text."""
        if self.edit is None or self.must is None or not self.why_not_tried:
            return self
        reason = self.why_not_tried[:1].upper() + self.why_not_tried[1:]
        text = f"{self.text} {reason.rstrip('.')}."
        return replace(self, text=text, why_not_tried="", choice=True)


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault at one place."""

    rule: str
    code: str
    severity: Severity
    place: Place
    headline: str
    facts: Sequence[Fact] = ()
    ruled_out: Sequence[Fact] = ()
    why: str = ""
    fixes: Sequence[Fix] = ()
    python_said: str = ""
    about: str = ""
    """Which fault of a run this is about: a crash's id, or empty where rule and place say it."""
    ranks: Sequence[int] = ()
    """In a launched run: the ranks that showed it."""
    suppositions: Sequence["Finding"] = ()
    """Explanations of the same fault that take the place of this one where a fix of theirs holds;
    without that, nothing is said of them."""

    @property
    def held(self) -> Fix | None:
        """The first fix that held; one that is the user's choice only where no other did."""
        fixes = sorted(self.fixes, key=lambda fix: fix.choice)
        return next((fix for fix in fixes if fix.has_held), None)

    def _repr_html_(self) -> str:
        """In a notebook."""
        from surefit.render.html import finding_html

        return finding_html(self)
