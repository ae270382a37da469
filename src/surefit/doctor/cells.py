"""Findings about a notebook, told by cell and line: rules know it as the script that it makes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.source.notebooks import Notebook

LINE = re.compile(r"\b(?<!, )lines? (\d+)\b")


@dataclass(frozen=True, slots=True)
class Cells:
    """A notebook under the name that places have for it."""

    file: str
    notebook: Notebook

    def finding(self, finding: Finding) -> Finding:
        """The same, with every place and every word about lines led to cells."""
        here = finding.place.file == self.file
        return replace(
            finding,
            place=self.place(finding.place),
            headline=self.text(finding.headline, here),
            facts=self.facts(finding.facts, here),
            ruled_out=self.facts(finding.ruled_out, here),
            why=self.text(finding.why, here),
            fixes=tuple(self.fix(fix, here) for fix in finding.fixes),
            python_said=self.text(finding.python_said, here=False),
        )

    def place(self, place: Place) -> Place:
        if place.file != self.file or place.line is None:
            return place
        cell, line = self.notebook.place(place.line)
        end = place.end_line
        if end is not None:
            last, end = self.notebook.place(end)
            end = end if last == cell else None
        return Place(place.file, line, end, cell=cell)

    def text(self, text: str, here: bool = False) -> str:
        """`here`: lines without a file are this one's."""
        named = re.compile(rf"{re.escape(self.file)}(?::|, line )(\d+)\b")
        text = named.sub(lambda found: str(self.place(Place(self.file, int(found[1])))), text)
        return LINE.sub(lambda found: self.words(int(found[1])), text) if here else text

    def words(self, line: int) -> str:
        cell, inside = self.notebook.place(line)
        return f"cell {cell}, line {inside}"

    def facts(self, facts: Sequence[Fact], here: bool) -> tuple[Fact, ...]:
        return tuple(Fact(self.text(one.name), self.text(one.value, here)) for one in facts)

    def fix(self, fix: Fix, here: bool) -> Fix:
        proof = fix.proof and replace(fix.proof, said=self.text(fix.proof.said))
        return replace(fix, text=self.text(fix.text, here), shown=self.shown(fix), proof=proof)

    def shown(self, fix: Fix) -> str | None:
        if fix.edit is None or fix.edit.file != self.file or fix.patch is None:
            return None
        try:
            return self.notebook.shown_diff(fix.edit)
        except ValueError:
            return None

    def left_out(self) -> Iterator[str]:
        """Lines that nobody ran, a line each."""
        for cell, one in self.notebook.left_out:
            place = Place(self.file, one.line, cell=cell)
            yield f"{place}: `{one.text}` was left out: only the Python of a notebook is run"
