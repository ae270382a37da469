"""Some rows of a batch have a key that others lack, and the default collator asks all for it.

## What happens
A dataset gives a key only where it has a value: an optional weight, a mask that was not drawn. The
default collator takes the keys of the first row of a batch and asks every row for them
(`KeyError: 'weight'`).

## Why it matters
The exception names the key alone, often from inside a worker. Where the first row lacks the key, no
error comes, and the batch silently loses it.

## What to do
Give every row the same keys: a value for rows that have none of their own, or no such key at all.

## How it is recognised
The rows that the default collator was given are mappings, and it failed at a key that some of them
have. The script is searched for the line that sets the key under a condition.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, fact_at
from surefit.doctor.words import code, counted, listed
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.uneven_keys import KeyNotInEveryRow
from surefit.remedies.change import Change
from surefit.remedies.collating import DropInCollator, arriving
from surefit.source.classes import method
from surefit.source.line_edits import inserted_before, shares_lines
from surefit.source.patches import Edit
from surefit.source.reading import Function, Source

SYMPTOM = Symptom(r"KeyError: '", "which rows of the batch lack the key", r"_utils/collate\.py")
RULE = Rule("SF225", "key-not-in-every-row", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

MOST_ROWS = 8


@dataclass(frozen=True, slots=True)
class KeyUnderCondition:
    """`row["weight"] = ...` or `{"weight": ...}` inside an `if`."""

    source: Source
    condition: ast.If
    at: ast.expr
    """The target, or the display."""
    holder: str
    """`row`; empty for a display."""

    @property
    def written(self) -> Expression:
        place = Place(self.source.file, self.at.lineno)
        return Expression(place, self.source.span(self.at), self.source.segment(self.at))

    @property
    def asked(self) -> str:
        return " ".join(self.source.segment(self.condition.test).split())

    @property
    def assigned(self) -> str:
        """The value of the key, as it is written."""
        statement = self.source.parents.get(self.at)
        return self.source.segment(statement.value) if isinstance(statement, ast.Assign) else ""

    def always(self, key: str, value: str) -> Edit | None:
        """A value before the condition, which replaces it where it holds."""
        if not self.holder or self.condition.orelse or shares_lines(self.source, self.condition):
            return None
        return inserted_before(self.source, self.condition, f'{self.holder}["{key}"] = {value}')


@RULE.on(KeyNotInEveryRow)
def rows_of_a_batch_lack_a_key(broken: KeyNotInEveryRow, case: Case) -> Finding:
    key, collator = broken.key, broken.collator
    setting, giving = set_under_condition(key, case), giving_rows(broken, case)
    lacking, dataset = len(broken.without), collator.dataset
    name = f" that `{dataset.of or dataset.kind}` gives" if dataset is not None else ""
    place = setting.written.place if setting is not None else (giving or broken.use).place
    rows = listed(broken.without[:MOST_ROWS]) + ("…" if lacking > MOST_ROWS else "")
    return case.finding(
        place,
        f"{lacking:,} of the {counted(collator.rows, 'row')} of a batch{name} lack the key"
        f" `{key}`, which the others have.",
        facts=(
            Fact(f"rows without `{key}`", f"{rows} of the batch, from 0"),
            *fact_at("set at", setting.written if setting is not None else None),
            *((Fact("only if", code(setting.asked)),) if setting is not None else ()),
            *fact_at("rows given by", giving),
        ),
        why="The default collator asks every row for the keys of the first one.",
        remedies=remedies(broken, case, setting),
    )


def giving_rows(broken: KeyNotInEveryRow, case: Case) -> Expression | None:
    """`__getitem__` of the user's dataset."""
    dataset = broken.collator.dataset
    name = (dataset.of or dataset.kind) if dataset is not None else ""
    for source in case.recording.sources():
        for node in source.definitions.get(name, ()):
            function = (
                method(source, node, "__getitem__") if isinstance(node, ast.ClassDef) else None
            )
            if function is not None:
                return Expression(Place(source.file, function.lineno), None, f"{name}.__getitem__")
    return None


def nothing(broken: KeyNotInEveryRow, setting: KeyUnderCondition | None) -> str:
    """Zeros of the size that the other rows have, where these are tensors when the key is set."""
    shapes = set(broken.collator.shapes.get(broken.key, ()))
    if setting is None or "torch." not in setting.assigned or len(shapes) > 1:
        return "0.0"
    return f"torch.zeros({shapes.pop() if shapes else ()})"


def remedies(
    broken: KeyNotInEveryRow, case: Case, setting: KeyUnderCondition | None
) -> Iterator[Remedy | Fix]:
    key, rows = broken.key, broken.collator.rows
    left = rows - len(broken.without)
    value = nothing(broken, setting)
    edit = setting.always(key, value) if setting is not None else None
    if edit is not None:
        words = f"Set `{key}` in every row: `{value}`, or what else stands for none."
        yield Change(to=edit, words=words, choice=True)
    else:
        yield Fix(f"Set `{key}` in every row, or in none.", choice=True)
    yield DropInCollator(
        test=f'"{key}" in row',
        words=f"Drop rows without `{key}` in a `collate_fn`; this batch loses"
        f" {len(broken.without):,} of its {counted(rows, 'row')} and keeps {left:,}.",
        collator=broken.collator,
        must=arriving(case, left),
        choice=True,
    )


def set_under_condition(key: str, case: Case) -> KeyUnderCondition | None:
    """Where the user's sources have just one such place."""
    known = [each for source in case.recording.sources() for each in in_conditions(key, source)]
    return known[0] if len(known) == 1 else None


def in_conditions(key: str, source: Source) -> Iterator[KeyUnderCondition]:
    for node in source.nodes:
        holder = ""
        match node:
            case ast.Subscript(value=owner, slice=ast.Constant(value=name), ctx=ast.Store()):
                holder = source.segment(owner)
            case ast.Dict(keys=keys):
                names = [each.value for each in keys if isinstance(each, ast.Constant)]
                name = key if key in names else ""
            case _:
                continue
        condition = condition_around(source, node) if name == key else None
        if condition is not None and isinstance(node, ast.expr):
            yield KeyUnderCondition(source, condition, node, holder)


def condition_around(source: Source, node: ast.AST) -> ast.If | None:
    """The innermost `if` of the same function; not that of a script's `__main__`."""
    for outer in source.up(node):
        if isinstance(outer, Function):
            return None
        if isinstance(outer, ast.If):
            return None if "__main__" in ast.unparse(outer.test) else outer
    return None
