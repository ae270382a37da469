"""A value of a sample is None, and the default collator can create no tensor from it.

## What happens
`__getitem__` returns a sample in which something is missing: a mask that was not drawn, a label
that is unknown, a transformation that was not asked for. The default collator of a loader takes the
values of all samples and refuses None (`found <class 'NoneType'>`).

## Why it matters
The message names neither the value nor the rows. Where only some rows lack it, a batch without them
passes.

## What to do
If no sample has it, leave it out of the sample. If some do, leave out the rows that lack it, or
give them a value that the loss ignores (-100 for labels of cross entropy).

## How it is recognised
The rows that the default collator was given are samples, and a value of theirs is None in some or
all of them. A second run shows which expression returned the None.
"""

from collections.abc import Iterator

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import counted, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.samples import DEFAULT, ValuesAreNone
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, Way
from surefit.lineage.properties import none
from surefit.remedies.collating import DropInCollator, arriving

SYMPTOM = Symptom(
    r"TypeError: .*NoneType", "which value of which samples is None", r"default_collate"
)
RULE = Rule("SF220", "none-in-a-sample", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(ValuesAreNone)
def a_value_is_none(broken: ValuesAreNone, case: Case) -> Finding:
    collator, columns = broken.collator, list(broken.collator.missing)
    birth = returned_by(broken, case, columns[0])
    dataset = collator.dataset
    name = f"`{dataset.of or dataset.kind}`" if dataset else "the dataset"
    count = collator.missing[columns[0]]
    rows = "every sample" if count == collator.rows else f"{count:,} of {collator.rows:,} samples"
    return case.finding(
        (birth or broken.use).place,
        f"{names(columns)} of {rows} that {name} gives is None, and `{DEFAULT}` creates no tensor"
        " from it.",
        facts=(
            *(
                Fact(f"`{column}`", f"None in {missing:,} of {counted(collator.rows, 'row')}")
                for column, missing in collator.missing.items()
            ),
            *fact_at("returned by", birth),
        ),
        why="The default collator creates tensors from numbers, arrays and tensors.",
        remedies=remedies(broken, case, columns),
    )


def returned_by(broken: ValuesAreNone, case: Case, column: str) -> Producer | None:
    """The user's expression that gave the value of a row as None."""
    lineage = case.lineage(broken.rows) if broken.rows is not None else Lineage({}, ())
    for producer in lineage.all:
        for source, before in lineage.inputs(producer):
            if source.way is Way.ITEM and source.name == column and none.holds(before.value):
                return Lineage(lineage.graph, (source,)).birth(of=none) or before
    return None


def names(columns: list[str]) -> str:
    return spoken(f"value {name} (from 0)" if name.isdigit() else f"`{name}`" for name in columns)


def remedies(broken: ValuesAreNone, case: Case, columns: list[str]) -> Iterator[Remedy | Fix]:
    collator, missing = broken.collator, max(broken.collator.missing.values())
    if missing == collator.rows:
        yield Fix(f"Leave {names(columns)} out of the sample, as no sample has it.", choice=True)
        return
    keys = [column if column.isdigit() else f'"{column}"' for column in columns]
    left = collator.rows - missing
    yield DropInCollator(
        test=" and ".join(f"row[{key}] is not None" for key in keys),
        words=f"Drop samples without {names(columns)} in a `collate_fn`; this batch loses"
        f" {missing:,} of its {counted(collator.rows, 'row')} and keeps {left:,}.",
        collator=collator,
        must=arriving(case, left) if len(columns) == 1 else None,
        choice=True,
    )
    yield Fix("Give these rows a value that the loss ignores, -100 for a label.", choice=True)
