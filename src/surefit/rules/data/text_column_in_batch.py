"""A column of text is still among the rows when they become a batch.

## What happens
Tokenizing adds columns to a dataset and removes none: the text stays. With
`remove_unused_columns=False`, or in a loop of your own, nothing drops it, and a collator that makes
a tensor of every column fails on the strings.

## Why it matters
The message sends people to padding and truncation, where nothing is wrong.

## What to do
Remove the text once it is tokenized: `map(..., remove_columns=["text"])`. In a dataset of your own
do not return it; to look at it later, keep it outside of the rows.

## How it is recognised
The rows that the failing collator was given have a column of strings, of lists of strings or of
dictionaries; or a loop moves a batch to a device and one of its columns is a list of strings. Text
as labels is another matter: see labels-are-text.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.condition import All, Condition
from surefit.doctor.conditions.inputs import RowsReachModel
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Written
from surefit.doctor.words import code, some, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.stacking import LABELS, NotNumbers, RowColumn
from surefit.laws.rows.collators import TOKENIZED, rows_given
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind
from surefit.remedies.append import Append
from surefit.remedies.arguments import SetArgument
from surefit.remedies.drop_columns import DropColumns

SYMPTOM = Symptom(
    r"too many dimensions 'str'|excessive nesting|'list' object has no attribute 'to'",
    "whether the rows still have a column of strings: `map` without `remove_columns`, and"
    " `remove_unused_columns=False`",
)
RULE = Rule("SF203", "text-column-in-batch", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(NotNumbers)
def text_cannot_be_stacked(broken: NotNumbers, case: Case) -> Finding | None:
    texts = [column.name for column in broken.wrong]
    if set(texts) & set(LABELS):
        return None
    entries = [entry_of(name, broken, case) for name in texts]
    mapped = map_that_kept(case.lineage_of_dataset(), texts)
    kept: Written = mapped or next((entry for entry in entries if entry), None) or broken.use
    columns = spoken(map(code, texts))
    named = f"column {columns} is" if len(texts) == 1 else f"columns {columns} are"
    by = f"`{broken.by}` makes a tensor of every column"
    if broken.collator is None:
        by = f"{code(broken.by)} is for tensors"
    why = "tokenizing adds columns and removes none" if mapped else "a row holds numbers alone"
    return case.finding(
        kept.place,
        f"The text {named} still in every row, and {by}.",
        facts=(*facts(broken), *unused(case)),
        why=f"No tensor can be made of strings; {why}.",
        remedies=remedies(texts, mapped, rows_given(case), entries, must(broken)),
    )


def entry_of(name: str, broken: NotNumbers, case: Case) -> Written | None:
    """What a row is given as the column, where the user's own code creates the rows."""
    if broken.operand is None:
        return case.lineage_of_column(name).role()
    rows = case.lineage(broken.operand).of_shape(broken.operand.shape[1:])
    found = (entry_beside(case, rows.graph[row.serial], name) for row in rows.root)
    return next((entry for entry in found if entry is not None), None)


def map_that_kept(dataset: Lineage, texts: list[str]) -> Producer | None:
    """The newest `map` on the way of the dataset that was given the text and left it there."""
    for producer in dataset.producers:
        if producer.kind is ProducerKind.CALL and producer.name.rpartition(".")[2] == "map":
            return producer if set(texts) <= set(producer.value.members) else None
    return None


def facts(broken: NotNumbers) -> Iterator[Fact]:
    for column in broken.wrong:
        kinds = spoken(column.kinds)
        words = f"{kinds} of text" if kinds in ("list", "tuple") else kinds
        yield Fact(column.words, f"{words} in each of {broken.rows} rows")
    others = [column.name for column in broken.columns if column not in broken.wrong]
    if others:
        yield Fact("the other columns", ", ".join(others))


def unused(case: Case) -> Iterator[Fact]:
    """A Trainer drops what the model does not take, unless it is told not to."""
    for source, keyword in case.recording.every(ast.keyword):
        off = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        if keyword.arg == "remove_unused_columns" and off:
            place = Place(source.file, keyword.lineno)
            yield Fact("it is kept by", f"`remove_unused_columns=False`, {place}")
            return


def remedies(
    texts: list[str],
    mapped: Producer | None,
    rows: Written | None,
    entries: list[Written | None],
    condition: Condition | None,
) -> Iterator[Remedy | Fix]:
    names = "[" + ", ".join(f'"{name}"' for name in texts) + "]"
    if mapped is not None:
        words, name = f"Remove it once it is tokenized: `remove_columns={names}`.", "remove_columns"
        yield SetArgument(at=mapped, name=name, value=names, words=words, must=condition)
        suffix = f".remove_columns({names})"
        words = f"Hand the rows over without it: `{suffix}`."
        yield Append(at=rows, suffix=suffix, words=words, must=condition, alike=False)
    elif all(entries):
        words = f"Do not return {some(texts)} with the row."
        yield DropColumns(entries=tuple(entries), names=tuple(texts), words=words, must=condition)
    else:
        yield Fix(f"Remove {some(texts)} from the rows: `remove_columns={names}`.", choice=True)


def must(broken: NotNumbers) -> Condition | None:
    """The columns that a tokenizer created, or another of one shape, reach the model whole."""
    numbers = [column for column in broken.columns if not column.is_text and column.shapes]
    tokenized = [column for column in numbers if column.name in TOKENIZED]
    whole = [column for column in tokenized if column.total is not None]
    others = [column for column in numbers if column.name not in LABELS]
    even = [column for column in others if not column.is_ragged and column.shapes[0]]
    conditions = tuple(map(arrives, whole or even[:1]))
    return All(conditions) if conditions else None


def arrives(column: RowColumn) -> RowsReachModel:
    shape = (None,) if column.is_ragged else column.shapes[0]
    elements = column.elements if column.is_ragged else None
    return RowsReachModel((len(column.shapes), *shape), column.total, elements)


def entry_beside(case: Case, beside: Written | None, name: str) -> Expression | None:
    """`{"x": x, "title": title}` or `item["title"] = title`, in the function of what is given
    beside it."""
    node, source = case.node(beside), case.source(beside)
    if node is None or source is None:
        return None
    for inner in ast.walk(source.scope_of(node)):
        match inner:
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == name:
                        return case.expression(source, value)
            case ast.Assign(
                targets=[ast.Subscript(slice=ast.Constant(value=key))], value=value
            ) if key == name:
                return case.expression(source, value)
    return None
