"""The labels of the rows are names of classes, and a tensor holds numbers.

## What happens
A table says `spam` and `ham`, `cat` and `dog`, and the column reaches the collator as it is. No
tensor can be made of strings: Python says `too many dimensions 'str'`, and transformers suggests
padding and truncation; neither is the cause.

## Why it matters
`label2id` in the settings of a model changes nothing: it names what the model predicts, and
converts no label.

## What to do
Give each name a number, the same one in training and evaluation: `class_encode_column("label")` of
a `Dataset`, or a dictionary created once of the sorted names.

## How it is recognised
The rows that the failing collator was given have text as labels; it is a collator of a library
that makes a tensor of every column, or a line of yours that makes one of this column.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

from surefit.doctor.conditions.labels import LabelsAreNumbered
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Written, fact_at
from surefit.doctor.words import code, counted, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.stacking import LABELS, NotNumbers
from surefit.lineage.producers import Producer
from surefit.lineage.properties import has_column, text
from surefit.remedies.append import Append
from surefit.remedies.replace import ReplaceWith

SYMPTOM = Symptom(
    r"too many dimensions 'str'|excessive nesting",
    "whether the labels of the rows are strings, and which numbers they stand for",
)
RULE = Rule("SF249", "labels-are-text", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

MOST_WRITTEN = 12
"""Names of classes that an edit can write out."""


@dataclass(frozen=True, slots=True)
class ClassNames:
    """What the labels of the rows are, as the crashed process tells."""

    probe: ClassVar[str] = "class-names"

    batch: tuple[str, ...]
    """Of each row."""
    names: tuple[str, ...]
    complete: bool
    """These are the names in the whole dataset."""
    numbers: dict[str, int] = field(default_factory=dict)
    number: str = ""
    """What of the user's module numbers a name: `label2id[{}]`; empty where nothing does."""
    listing: str = ""
    """All names in the order of these numbers, as source."""

    def written(self, name: str) -> str:
        """The number of a name, as source."""
        if self.number:
            return self.number.format(name)
        return f"{self.numbers}[{name}]".replace("'", '"')

    def must(self) -> LabelsAreNumbered:
        total = sum(self.numbers[name] for name in self.batch)
        return LabelsAreNumbered(len(self.batch), total, len(self.names))


@RULE.on(NotNumbers)
def names_of_classes_cannot_be_stacked(broken: NotNumbers, case: Case) -> Finding | None:
    column = broken.wrong[0]
    if len(broken.wrong) > 1 or column.name not in LABELS or column.kinds != ("str",):
        return None
    names = case.ask(ClassNames, column=column.name)
    row = case.lineage_of_column(column.name).role()
    table = case.lineage_of_dataset().birth(of=has_column(column.name))
    origin: Written = row or table or broken.use
    others = ", ".join(other.name for other in broken.columns if other.name != column.name)
    return case.finding(
        origin.place,
        f"{column.words} holds names of classes, not numbers: the {counted(broken.rows, 'row')} of"
        " this batch have text there, and no tensor can be made of it.",
        facts=(
            *((Fact("names", spoken(map(code, names.names[:MOST_WRITTEN]))),) if names else ()),
            Fact("the other columns", others),
            *fact_at("label from", row or table),
        ),
        why="A loss compares predictions with the number of a class; nothing converts names to"
        " numbers on the way, and `label2id` of a model does not.",
        remedies=remedies(column.name, names, row, table),
    )


def remedies(
    column: str, names: ClassNames | None, row: Producer | None, table: Producer | None
) -> Iterator[Remedy | Fix]:
    if names is not None and row is not None and text.holds(row.value):
        if names.number or (names.complete and len(names.names) <= MOST_WRITTEN):
            new, free = names.written(row.text), not names.number
            words = f"Give the row the number of its class: {code(new)}."
            yield ReplaceWith(at=row, text=new, words=words, must=names.must(), choice=free)
            return
    elif names is not None and table is not None and table.value.kind == "Dataset":
        if names.listing:
            variable = names.number.partition("[")[0].partition(".")[0]
            suffix = f'.cast_column("{column}", ClassLabel(names={names.listing}))'
            yield Append(
                at=table,
                suffix=suffix,
                words=f"Number the names as your `{variable}` does, with `ClassLabel`.",
                must=names.must(),
                alike=False,
                imports=("datasets", "ClassLabel"),
            )
        order = {name: number for number, name in enumerate(sorted(names.names))}
        yield Append(
            at=table,
            suffix=f'.class_encode_column("{column}")',
            words=f'Number the names in alphabetical order: `class_encode_column("{column}")`.',
            must=replace(names, numbers=order).must(),
            choice=True,
            alike=False,
        )
        return
    numbers = "`{name: number for number, name in enumerate(sorted(names))}`"
    words = f"Create a dictionary of the names once ({numbers}), and give each row the number."
    yield Fix(words, choice=True)
