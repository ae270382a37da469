"""What a script asks of a Trainer comes about: columns that it asks for arrive, and settings that
it writes have an effect."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.trainer_requests import DroppedColumns, TrainerRequests
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.source.reading import Source, called
from surefit.source.selection import the_only

LAW = Law("trainer_requests", "what a script asks of a Trainer comes about")

PROOF_STEPS = 3
EPOCHS = "num_train_epochs"
MOST_STEPS = "max_steps"
APART = 0.1
"""Share of the planned epochs."""
GIVEN = ("data_collator", "compute_loss_func", "preprocess_logits_for_metrics")
"""Arguments of a Trainer that are functions of the user's, called with what it delivers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNotDelivered(BrokenLaw):
    """A function asks for a column, with an answer for its absence, and the Trainer drops it."""

    column: str
    dataset: DroppedColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingOverridden(BrokenLaw):
    """Two settings are written, and one of them makes the other void."""

    call: Expression
    setting: str
    by: str


def watched(recording: Recording) -> MeasuredOn:
    every = list(recording.all(TrainerRequests))
    if not every:
        return MeasuredOn(why_not="no Trainer was used")
    columns = sum(len(known.columns) for measure in every for known in measure.datasets)
    return MeasuredOn(on=f"{counted(columns, 'column')} and the settings of a Trainer")


def violations_of(case: Case) -> Iterator[BrokenLaw]:
    for measure in case.recording.of_first_rank(TrainerRequests):
        for dataset in measure.datasets:
            yield from not_delivered(case, dataset)
        yield from overridden(case, measure)
        return


def not_delivered(case: Case, dataset: DroppedColumns) -> Iterator[ColumnNotDelivered]:
    for source in case.recording.sources():
        for column, asked in requests(source, dataset.dropped):
            use = case.expression(source, asked)
            yield ColumnNotDelivered(
                use=use,
                said=f"`{use.text}` asks for the column {code(column)}, which the dataset has and"
                f" {code(dataset.trainer)} drops: it is never there.",
                facts=(
                    Fact("columns of the rows", ", ".join(dataset.columns)),
                    Fact("dropped", ", ".join(dataset.dropped)),
                ),
                steps=PROOF_STEPS,
                fault=f"{LAW.name} {column}",
                column=column,
                dataset=dataset,
            )
            return


def requests(source: Source, columns: tuple[str, ...]) -> Iterator[tuple[str, ast.expr]]:
    """`inputs.get("weight")`, `inputs.pop("weight", None)` and `"weight" in inputs`, of what the
    Trainer gives to a function: what fails where the column is absent is seen as a crash."""
    for node in source.nodes:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=holder), attr="get" | "pop" as how),
                args=[ast.Constant(value=str(column)), *rest],
            ) if column in columns and (rest or how == "get" or node.keywords):
                if is_delivered(source, node, holder):
                    yield column, node
            case ast.Compare(
                left=ast.Constant(value=str(column)),
                ops=[ast.In() | ast.NotIn()],
                comparators=[ast.Name(id=holder)],
            ) if column in columns and is_delivered(source, node, holder):
                yield column, node


def is_delivered(source: Source, node: ast.AST, holder: str) -> bool:
    """A parameter of a function that a Trainer calls, or an element of one."""
    function = source.scope_of(node)
    if not isinstance(function, ast.FunctionDef):
        return False
    arguments = function.args
    names = {entry.arg for entry in (*arguments.posonlyargs, *arguments.args)}
    if arguments.kwarg is not None:
        names.add(arguments.kwarg.arg)
    for inner in ast.walk(function):
        match inner:
            case (
                ast.comprehension(target=ast.Name(id=element), iter=ast.Name(id=whole))
                | ast.For(target=ast.Name(id=element), iter=ast.Name(id=whole))
            ) if whole in names:
                names.add(element)
    return holder in names and is_called_by_a_trainer(source, function)


def is_called_by_a_trainer(source: Source, function: ast.FunctionDef) -> bool:
    owner = source.class_around(function)
    if owner is not None:
        bases = [source.segment(base) for base in owner.bases]
        if any(base.endswith("Trainer") for base in bases) or function.name == "forward":
            return True
    name = owner.name if owner is not None else function.name
    return any(
        keyword.arg in GIVEN and name in source.segment(keyword.value)
        for keyword in source.every(ast.keyword)
    )


def overridden(case: Case, measure: TrainerRequests) -> Iterator[SettingOverridden]:
    """Where both are written in one call, and the run shows the difference."""
    written = settings_call(case, measure)
    if written is None or measure.epochs is None or not measure.planned_epochs:
        return
    source, call = written
    names = {keyword.arg for keyword in call.keywords}
    for by, setting in measure.overrides:
        if setting != EPOCHS or by != MOST_STEPS or not {by, setting} <= names:
            continue
        if abs(measure.epochs - measure.planned_epochs) <= APART * measure.planned_epochs:
            continue
        at = case.expression(source, call)
        yield SettingOverridden(
            use=at,
            said=f"`{setting}={measure.planned_epochs:g}` has no effect beside"
            f" `{by}={measure.most_steps}`: the run took {measure.epochs:.2g} epochs.",
            facts=(
                Fact("written", f"{measure.planned_epochs:g} epochs, {measure.most_steps:,} steps"),
                Fact("trained", f"{measure.epochs:.2g} epochs, {counted(measure.steps, 'step')}"),
            ),
            steps=PROOF_STEPS,
            fault=f"{LAW.name} {setting}",
            lasting=False,
            call=at,
            setting=setting,
            by=by,
        )


def settings_call(case: Case, measure: TrainerRequests) -> tuple[Source, ast.Call] | None:
    """The one call that creates the settings."""
    return the_only(
        (source, call)
        for source, call in case.recording.every(ast.Call)
        if called(call) == measure.arguments
    )
