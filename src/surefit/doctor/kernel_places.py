"""Findings about cells of a running notebook, told by the names that tracebacks have for them."""

from collections.abc import Sequence
from dataclasses import replace

from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.source.kernel import cells


def by_cell_names(finding: Finding) -> Finding:
    """`In[3]` for the file that Python has for the cell, in every place and word."""
    names = {cell.file: cell.name for cell in cells()}
    return renamed(finding, names) if names else finding


def renamed(finding: Finding, names: dict[str, str]) -> Finding:
    def text(said: str) -> str:
        for file, name in names.items():
            said = said.replace(file, name)
        return said

    def place(where: Place) -> Place:
        return replace(where, file=names.get(where.file, where.file))

    def facts(known: Sequence[Fact]) -> tuple[Fact, ...]:
        return tuple(Fact(text(fact.name), text(fact.value)) for fact in known)

    def fix(known: Fix) -> Fix:
        patch = text(known.patch) if known.patch is not None else None
        where = place(known.place) if known.place is not None else None
        return replace(known, text=text(known.text), patch=patch, place=where)

    return replace(
        finding,
        place=place(finding.place),
        headline=text(finding.headline),
        facts=facts(finding.facts),
        ruled_out=facts(finding.ruled_out),
        why=text(finding.why),
        fixes=tuple(map(fix, finding.fixes)),
        python_said=text(finding.python_said),
    )
