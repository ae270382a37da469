"""A value of a sample is None, and the default collator can make no tensor of it.

## What happens
`__getitem__` gives a sample in which something is missing: a mask that was not drawn, a label that
is unknown, a transformation that was not asked for. The default collator of a loader goes through
the values of all samples and refuses None (`found <class 'NoneType'>`).

## Why it matters
The message names neither the value nor the rows. Where only some rows lack it, a batch without them
goes through.

## What to do
If no sample has it, leave it out of the sample. If some do, leave out the rows that lack it, or
give them a value that the loss ignores (-100 for labels of cross entropy) in a `collate_fn`.

## How it is recognised
The rows that the default collator was given are samples, and a value of theirs is None in some or
all of them. The text of the exception is not looked at.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.rows import RowsArrive
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import CollatorSeen, Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted, spoken
from surefit.evidence.arrivals import arrival
from surefit.evidence.dropping import dropping_collator
from surefit.source.classes import method
from surefit.source.reading import Source
from surefit.source.returns import own_returns

RULE = Rule(
    "SF220",
    "none-in-a-sample",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"TypeError: .*NoneType", "which value of which samples is None", r"default_collate"
        ),
    ),
)

DEFAULT = "default_collate"


@RULE.on(Crash)
def a_value_was_none(crash: Crash, seen: Recording) -> Iterator[Finding]:
    collator = crash.collator
    if collator is None or collator.kind != DEFAULT or collator.nones or not collator.missing:
        return
    if not is_cause(crash, seen):
        return
    columns = list(collator.missing)
    place = given_at(collator, columns[0], seen)
    frames = [frame for frame in crash.frames if frame.own]
    if place is None and not frames:
        return
    yield RULE.finding(
        place or frames[0].place,
        headline(collator, columns),
        facts=tuple(
            Fact(f"`{column}`", f"None in {missing:,} of {counted(collator.rows, 'row')}")
            for column, missing in collator.missing.items()
        ),
        why="The default collator makes tensors of numbers, arrays and tensors; None is none.",
        fixes=tuple(fixes(crash, collator, columns, seen)),
        python_said=crash.said,
        about=crash.id,
    )


def headline(collator: CollatorSeen, columns: list[str]) -> str:
    dataset = collator.dataset
    name = f"`{dataset.of or dataset.kind}`" if dataset else "the dataset"
    which = spoken(shown(column) for column in columns)
    missing = collator.missing[columns[0]]
    rows = (
        "every sample" if missing == collator.rows else f"{missing:,} of {collator.rows:,} samples"
    )
    return f"{which} of {rows} that {name} gives is None, and `{DEFAULT}` makes no tensor of it."


def shown(column: str) -> str:
    return f"value {column} (from 0)" if column.isdigit() else f"`{column}`"


def given_at(collator: CollatorSeen, column: str, seen: Recording) -> Place | None:
    """Where `__getitem__` gets the value: the line that makes it None, or that of the sample."""
    names = {collator.dataset.kind, collator.dataset.of} if collator.dataset else set()
    for script in seen.all(Script):
        source = seen.source(script.file)
        for owner in source.every(ast.ClassDef) if source else ():
            gives = method(source, owner, "__getitem__") if source else None
            if source is None or owner.name not in names or gives is None:
                continue
            for one in own_returns(gives):
                value = part_of(source, one.value, column)
                if value is not None:
                    return Place(source.file, made_none(source, value).lineno)
            return Place(source.file, gives.lineno)
    return None


def part_of(source: Source, sample: ast.expr | None, column: str) -> ast.expr | None:
    sample = source.value_of(sample) if sample is not None else None
    if isinstance(sample, ast.Dict):
        for key, value in zip(sample.keys, sample.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == column:
                return value
    if isinstance(sample, ast.Tuple | ast.List) and column.isdigit():
        return sample.elts[int(column)] if int(column) < len(sample.elts) else None
    return None


def made_none(source: Source, value: ast.expr) -> ast.expr | ast.stmt:
    """`mask = None`, if the value is a name that is set so somewhere; otherwise the value."""
    for bound in source.bound_by(value) if isinstance(value, ast.Name) else ():
        given = bound.value if isinstance(bound, ast.Assign) else None
        if isinstance(given, ast.Constant) and given.value is None:
            return given
    return value


def fixes(
    crash: Crash, collator: CollatorSeen, columns: list[str], seen: Recording
) -> Iterator[Fix]:
    names = spoken(shown(column) for column in columns)
    missing = max(collator.missing.values())
    if missing == collator.rows:
        yield Fix(
            f"Leave {names} out of the sample, as no sample has it.",
            why_not_tried="what the script does with it further on only you know",
        )
        return
    keys = [column if column.isdigit() else f'"{column}"' for column in columns]
    test = " and ".join(f"row[{key}] is not None" for key in keys)
    edit = dropping_collator(crash, seen, test) if len(columns) == 1 else None
    came = arrival(crash, seen)
    left = collator.rows - missing
    must = RowsArrive(left, came.place, came.names, came.after) if came else None
    yield Fix(
        f"Drop samples without {names} in a `collate_fn`; this batch loses {missing:,} of its"
        f" {counted(collator.rows, 'row')} and keeps {left:,}.",
        edit,
        must,
        "" if edit else "the call of the loader was not found, or it has a collator",
    )
    yield Fix(
        "Or give these rows a value that the loss ignores, such as -100 for a label.",
        why_not_tried="only you know what stands for a missing value",
    )
