"""A line of yours below a Trainer asks for a column that the Trainer has dropped.

## What happens
A Trainer keeps only columns that the model's `forward` takes by name, and drops the others before
the batch is created. A `compute_loss` or a collator of your own that reads another column, a weight
of each row for instance, gets a batch without it: `KeyError`, or, where it asks with a default
(`inputs.pop("weight", None)`), the default for every row.

## Why it matters
The dataset has the column, and printing a row shows it. That it is dropped is said only in the log,
at a level that is not shown.

## What to do
`remove_unused_columns=False` in the `TrainingArguments`, and remove yourself what neither the model
nor your loss takes: `dataset.remove_columns([...])`.

## How it is recognised
A line of yours below the Trainer asks a batch or a row for a key that is not there; the dataset has
a column of this name, and the Trainer drops it because `forward` has no such argument. Or a
function that the Trainer calls asks for the column with a default, and a run has dropped it.
"""

import ast

from surefit.doctor.conditions.keys import KeyIsThere
from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.contracts.keys import KeyAbsent
from surefit.laws.invariants.trainer_requests import ColumnNotDelivered
from surefit.laws.runs import law_holds
from surefit.laws.training.trainers import (
    ROWS,
    TrainerState,
    arguments_call,
    dropped_columns,
    trainer_of,
)
from surefit.laws.values.subscripts import readable
from surefit.remedies.change import Change
from surefit.source.edits import appended, argument_added
from surefit.source.patches import Edit, both
from surefit.source.reading import Source

SYMPTOM = Symptom(
    r"^KeyError",
    "whether the Trainer drops the column because `forward` does not take it",
    passed=r"compute_loss|prediction_step|training_step",
)
RULE = Rule("SF207", "column-dropped-before-the-loss", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(KeyAbsent)
def the_trainer_drops_the_column(broken: KeyAbsent, case: Case) -> Finding | None:
    trainer = trainer_of(case)
    dropped = dropped_columns(case, trainer)
    if trainer is None or case.own is None or broken.key not in dropped:
        return None
    arguments = arguments_call(case)
    place = broken.use.place
    if arguments is not None:
        source, call = arguments
        place = Place(source.file, call.lineno, call.end_lineno)
    columns = ", ".join(trainer.columns)
    return case.finding(
        place,
        f"`{broken.key}` is no argument of `{trainer.model}.forward`, so the Trainer drops the"
        f" column, and `{case.own.function}` asks for it.",
        facts=(
            *((Fact("columns of the rows", columns),) if columns else ()),
            Fact(broken.holder.name, ", ".join(broken.members)),
            *fact_at("asked for at", broken.use),
        ),
        why="With `remove_unused_columns=True`, the default, a Trainer keeps only columns that"
        " `forward` takes by name.",
        remedies=(keeping(broken, trainer, dropped, arguments),),
    )


@RULE.on(ColumnNotDelivered)
def the_trainer_drops_a_column_with_a_default(broken: ColumnNotDelivered, case: Case) -> Finding:
    source = case.source(broken.use)
    node = case.node(broken.use)
    scope = source.scope_of(node) if source is not None and node is not None else None
    read = {
        inner.value
        for inner in (ast.walk(scope) if scope is not None else ())
        if isinstance(inner, ast.Constant)
    }
    spare = [name for name in broken.dataset.dropped if name not in read]
    arguments = arguments_call(case)
    words, edit = edit_that_keeps(arguments, spare)
    name = getattr(scope, "name", "a function of yours")
    return case.finding(
        broken.use.place,
        f"`{broken.column}` is no argument of `{broken.dataset.model}.forward`, so"
        f" {code(broken.dataset.trainer)} drops the column, and `{name}` always gets the default.",
        facts=broken.facts,
        why="With `remove_unused_columns=True`, the default, a Trainer keeps only columns that"
        " `forward` takes by name.",
        remedies=(Change(to=edit, words=f"{words}.", must=law_holds(broken)),),
    )


def keeping(
    broken: KeyAbsent,
    trainer: TrainerState,
    dropped: dict[str, str],
    arguments: tuple[Source, ast.Call] | None,
) -> Change:
    """All columns, less those that nobody takes."""
    spare = [name for name in dropped if name != broken.key and not is_read(broken, name)]
    words, edit = edit_that_keeps(arguments, spare if trainer.columns else [])
    place = Place(broken.use.place.file, broken.use.place.line)
    must = KeyIsThere(place, readable(broken.asked, broken.key))
    return Change(to=edit, words=f"{words}.", must=must)


def edit_that_keeps(
    arguments: tuple[Source, ast.Call] | None, spare: list[str]
) -> tuple[str, Edit | None]:
    """`spare`: columns that nobody takes, and that would fail in a batch."""
    words, edit = "Keep it: `remove_unused_columns=False`", None
    if arguments is not None:
        source, call = arguments
        edit = argument_added(source, call, "remove_unused_columns", "False")
        names = "[" + ", ".join(f'"{name}"' for name in spare) + "]"
        for node in source.every(ast.keyword) if spare else ():
            if node.arg in ROWS and not isinstance(node.value, ast.Constant):
                edit = both(edit, appended(source, node.value, f".remove_columns({names})"))
        if spare:
            words += f", and remove the others: {code(f'.remove_columns({names})')}"
    return words, edit


def is_read(broken: KeyAbsent, name: str) -> bool:
    """The function that asks for the one column asks for this one, too."""
    scope = broken.asked.source.scope_of(broken.asked.node)
    return any(isinstance(node, ast.Constant) and node.value == name for node in ast.walk(scope))
