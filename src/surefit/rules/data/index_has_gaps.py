"""A row of a pandas table was asked for by its position, and the index has gaps there.

## What happens
`dropna`, a mask, `sample` or a split keep the label that each row had before. `column[3]` and
`.loc[3]` ask for the row with the label 3, not for the fourth row; where that row was left out,
pandas raises `KeyError: 3`.

## Why it matters
It depends on which rows are gone, so that it can take a whole epoch of a shuffled loader to show.
And where the label still exists, it is another row than the one at that position: after `sample`,
texts and labels of different rows are silently put together.

## What to do
Ask by position: `.iloc[3]`. Or number the rows again where some are left out:
`.reset_index(drop=True)`.

## How it is recognised
A subscript failed with a `KeyError`; its key is an integer below the number of rows, and the index
of the table or column is not 0, 1, 2... A second run shows which expression left the gaps.
"""

import ast

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.numbered import Numbered
from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.contracts.keys import LabelAbsent
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind
from surefit.lineage.properties import has_gaps, index_with_gaps
from surefit.remedies.rows import ByPosition, Renumber

SYMPTOM = Symptom(
    r"KeyError: \d+$", "whether the index of the table is 0, 1, 2... or has gaps", r"pandas"
)
RULE = Rule("SF215", "index-has-gaps", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(LabelAbsent)
def a_position_was_asked_as_a_label(broken: LabelAbsent, case: Case) -> Finding:
    lineage = case.lineage(broken.holder)
    birth = lineage.birth(of=index_with_gaps)
    rows = counted(broken.rows, "row")
    return case.finding(
        (birth or broken.use).place,
        f"{code(broken.use.text)} asks for the row with the label {broken.label}, and"
        f" {broken.holder.name} has none: its {rows} kept the labels that they had before others"
        " were left out.",
        facts=(
            Fact(
                broken.holder.name,
                f"{broken.holder.value.kind} of {rows}, its index is not 0, 1, 2...",
            ),
            *fact_at("leaves gaps", birth),
            *fact_at("asked at", broken.use),
        ),
        why="A subscript and `.loc` take the label of a row, `.iloc` its position. After rows are"
        " left out or shuffled the two differ: here with an error, elsewhere with another row.",
        remedies=(
            ByPosition(asked=broken.asked, values=case.own.values if case.own else ()),
            renumbered(broken, birth, lineage, case),
        ),
    )


def renumbered(
    broken: LabelAbsent, birth: Producer | None, lineage: Lineage, case: Case
) -> Renumber | None:
    """Where rows are left out; where other tables have gaps, too, where the failing class takes
    its own. Not where something needs the labels that the rows had."""
    source = case.source(birth)
    if source is None:
        return None
    index = Numbered(broken.use.place, broken.holder.value.text, broken.rows)
    must = All((index, TrainingGoesOn(changes_the_past=True)))
    if not others_have_gaps(broken, case) and not needs_labels(source.tree):
        return Renumber(at=birth, must=must)
    taken = [known for known in lineage.all if known.kind is ProducerKind.PARAMETER]
    inside = [each for each in taken if each.function.endswith("__init__") and has_gaps(each.value)]
    if not inside or needs_labels(class_around(case, inside[0])):
        return None
    return Renumber(at=inside[0], parameter=inside[0].name, must=must)


def needs_labels(tree: ast.AST | None) -> bool:
    """`other.drop(part.index)`: what the rows were called before is still asked for."""
    nodes = ast.walk(tree) if tree is not None else ()
    return any(isinstance(node, ast.Attribute) and node.attr == "index" for node in nodes)


def class_around(case: Case, taken: Producer) -> ast.ClassDef | None:
    source = case.source(taken)
    statement = source.statement_at(taken.place.line or 0) if source is not None else None
    if source is None or statement is None:
        return None
    outer = (statement, *source.up(statement))
    return next((node for node in outer if isinstance(node, ast.ClassDef)), None)


def others_have_gaps(broken: LabelAbsent, case: Case) -> bool:
    """A table of another length, as the other part of a split has."""
    values = [value for frame in case.frames if frame.own for value in frame.values]
    return any(value.numbered is False and value.length != broken.rows for value in values)
