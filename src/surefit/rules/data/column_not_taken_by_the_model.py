"""A column has another name than the argument of `forward` that it is meant for.

## What happens
A model knows its inputs by name. What its `forward` does not take under that name is left out: a
`Trainer` silently drops the column, a model with `**kwargs` ignores it, any other raises
`unexpected keyword argument`. A `forward` that takes nothing but `**kwargs` names no column at all,
and a Trainer drops every one.

## Why it matters
The message is about what is missing (`You must specify exactly one of input_ids or inputs_embeds`,
`The model did not return a loss`), never about the column that was left out.

## What to do
Give the column the name that `forward` has for it where the column is created (`labels`,
`input_ids`). Name the inputs in the signature of a `forward` of your own, or set
`remove_unused_columns=False`.

## How it is recognised
The rows, or the batch, have a column of numbers that the model's own `forward` does not take; an
argument with a similar meaning, or the last that must be given, was not; and what failed is the
absence of just that: an argument that is None, an output without a loss, an impossible call.
"""

from collections.abc import Iterator

from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.inputs import ColumnReachesModel
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, some
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.forward_arguments import ColumnsAstray, EveryColumnDropped
from surefit.laws.training.trainers import arguments_call
from surefit.remedies.arguments import SetArgument
from surefit.remedies.columns import (
    RenameForTrainer,
    RenameWhereCreated,
    naming_of,
    rows_of_trainer,
)
from surefit.remedies.parameters import NameParameters, forward_of

SYMPTOMS = (
    Symptom(
        r"exactly one of input_ids or inputs_embeds|did not return a loss|unexpected keyword"
        r"|No columns in the dataset match|missing \d+ required positional|KeyError: 'loss'",
        "whether a column of your rows has a name that the model's `forward` does not take",
    ),
    Symptom(
        r"'NoneType' object has no attribute 'backward'",
        "whether the model was called without `labels`",
    ),
)
RULE = Rule("SF204", "column-not-taken-by-the-model", Severity.ERROR, __doc__, symptoms=SYMPTOMS)

DROPS = (
    "With `remove_unused_columns=True`, the default, a Trainer keeps only columns that `forward`"
    " takes by name."
)


@RULE.on(ColumnsAstray)
def a_column_did_not_reach_the_model(broken: ColumnsAstray, case: Case) -> Finding:
    names = {stray.column: stray.meant for stray in broken.strays}
    must = All(tuple(map(ColumnReachesModel, names.values())))
    tables = broken.trainer is not None and bool(broken.trainer.columns)
    first = broken.strays[0]
    so = f"the call fails; what it takes is `{first.meant}`"
    why = "`forward` takes its inputs by name."
    if first.dropped:
        so, why = f"the Trainer drops it and the model gets no `{first.meant}`", DROPS
    elif broken.signature.open:
        so = f"it is ignored and the model gets no `{first.meant}`"
        why = "`forward` takes further names by `**kwargs` and does nothing with them."
    return case.finding(
        naming_place(case, list(names)) or broken.use.place,
        f"The column `{first.column}` is no argument of `{broken.model}.forward`, so {so}.",
        facts=facts(broken),
        why=why,
        remedies=(
            RenameWhereCreated(names=names, must=must),
            RenameForTrainer(names=names, must=must) if tables else None,
        ),
    )


def naming_place(case: Case, columns: list[str]) -> Place | None:
    """Where the first gets its name; otherwise where rows are handed to the Trainer."""
    for naming in filter(None, (naming_of(case, column) for column in columns)):
        return naming.place
    return next((Place(s.file, node.lineno) for s, node in rows_of_trainer(case)), None)


def facts(broken: ColumnsAstray) -> Iterator[Fact]:
    if broken.trainer is not None and broken.trainer.columns:
        yield Fact("columns of the rows", ", ".join(broken.trainer.columns))
    if broken.called:
        yield Fact("the model was given", ", ".join(broken.received))
    meant = {stray.meant for stray in broken.strays}
    shown = [name for name in broken.takes if name in {*broken.received, *meant}]
    rest = len(broken.takes) - len(shown)
    more = f" and {rest} more" if rest else ""
    yield Fact("`forward` takes", ", ".join(map(code, shown)) + more)
    for stray in broken.strays[1:]:
        yield Fact(f"`{stray.column}`", f"meant for `{stray.meant}`, in the same way")


@RULE.on(EveryColumnDropped)
def forward_names_no_column(broken: EveryColumnDropped, case: Case) -> Finding:
    forward = forward_of(case, broken.model)
    takes = f"`**{forward.rest}`" if forward and forward.rest else some(broken.takes)
    return case.finding(
        forward.place if forward is not None else broken.use.place,
        f"`{broken.model}.forward` takes {takes or 'no inputs'} and names none of the columns"
        f" {some(broken.columns)}, so the Trainer drops them all.",
        facts=(
            Fact(
                "columns of the rows", ", ".join(broken.trainer.columns if broken.trainer else ())
            ),
            Fact("`forward` names", ", ".join(broken.takes) or "no input"),
            *fact_at("fails at", broken.use),
        ),
        why=f"{DROPS} `**kwargs` names none.",
        remedies=keeping_columns(broken, case),
    )


def keeping_columns(broken: EveryColumnDropped, case: Case) -> Iterator[Remedy | Fix]:
    if not broken.signature.open:
        yield Fix(f"Name {some(broken.columns)} as parameters of `forward`.", choice=True)
        return
    must = All(tuple(map(ColumnReachesModel, broken.columns)))
    call = arguments_call(case)
    yield SetArgument(
        at=case.expression(*call) if call else None,
        name="remove_unused_columns",
        value="False",
        words="Keep all columns: `remove_unused_columns=False`.",
        must=must,
        choice=True,
    )
    yield NameParameters(model=broken.model, names=broken.columns, must=must, choice=True)
