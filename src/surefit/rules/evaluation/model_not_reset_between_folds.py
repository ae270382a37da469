"""One model is trained in all folds of a cross validation, without new weights for each.

## What happens
The model is created once, before the loop over the folds. In the second fold it goes on with the
weights of the first, which was trained on rows that the second fold holds out.

## Why it matters
From the second fold on the score measures memory: the model was trained on the held-out rows in an
earlier fold. Cross-validated accuracy is far too high; only the first fold is honest.

## What to do
Create the model and its optimizer inside the loop, so that each fold begins with new weights. Or
load the initial weights at the beginning of each fold.

## How it is recognised
The rows of the first evaluation are new to the model. Those of the next ones, which were never
evaluated before, are rows that the same model was trained on, by their content. Silent where
weights are set between folds (`load_state_dict`, `reset_parameters`, `nn.init`, a copy), and where
rows are split again in each epoch.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted
from surefit.laws.case import Case
from surefit.laws.evaluation.evaluation_names import names_in, words_of
from surefit.laws.invariants.disjoint_rows import TrainedInEarlierFold
from surefit.laws.runs import law_holds
from surefit.remedies.into_the_loop import IntoTheLoop
from surefit.source.line_edits import block_of, bound_by
from surefit.source.reading import Loop, Source, called, names_within

RULE = Rule("SF531", "model-not-reset-between-folds", Severity.ERROR, __doc__)

EPOCHS = frozenset(("epoch", "epochs", "step", "steps", "iteration", "iterations", "batch"))

MODEL = frozenset(("model", "net", "network", "classifier", "regressor", "clf", "mlp"))


@dataclass(frozen=True)
class ModelBeforeLoop:
    """The statement that creates it, and the loop."""

    source: Source
    name: str
    creation: ast.Assign
    loop: Loop

    @property
    def moved(self) -> list[ast.stmt]:
        """What must be created again with it, in order: its optimizer, say."""
        names = {self.name}
        found: list[ast.stmt] = [self.creation]
        block = block_of(self.source, self.creation)
        later = block[block.index(self.creation) + 1 :]
        for statement in later[: later.index(self.loop) if self.loop in later else 0]:
            if not isinstance(statement, ast.Assign | ast.Expr):
                continue
            if names & set(names_within(statement)):
                names |= bound_by(statement)
                found.append(statement)
        return found

    @property
    def is_beside(self) -> bool:
        """Both are in one block, so that the creation can be moved into the loop."""
        return self.loop in block_of(self.source, self.creation)


@RULE.on(TrainedInEarlierFold)
def a_model_goes_on_to_the_next_fold(broken: TrainedInEarlierFold, case: Case) -> Finding | None:
    known, row = broken.trained, broken.evaluated
    found = model_before_loop(case.recording, row.stack, known.place, known.made_at)
    if found is None:
        return None
    folds = [fresh for fresh in row.rounds if fresh.rows]
    trained = sum(fresh.trained for fresh in folds[1:])
    rows = sum(fresh.rows for fresh in folds[1:])
    loop = Place(found.source.file, found.loop.lineno)
    return case.finding(
        Place(found.source.file, found.creation.lineno, found.creation.end_lineno),
        f"`{found.name}` is created once, before the loop over the folds, and keeps its weights"
        f" from fold to fold: {trained:,} of {counted(rows, 'row')} held out from the second fold"
        " on were already trained on in an earlier fold.",
        facts=(*broken.facts, Fact("the loop", str(loop))),
        why="A new fold needs a new model: this one has seen the rows of its test fold before.",
        remedies=(remedy(broken, found),),
    )


def remedy(broken: TrainedInEarlierFold, found: ModelBeforeLoop) -> IntoTheLoop | Fix:
    statements = found.moved
    names = [
        target.id
        for statement in statements[1:]
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]
    others = "".join(f" and `{name}`" for name in names)
    words = f"Create `{found.name}`{others} inside the loop: new weights for each fold."
    if not found.is_beside:
        return Fix(words)
    return IntoTheLoop(
        source=found.source,
        statements=tuple(statements),
        body=tuple(found.loop.body),
        words=words,
        must=law_holds(broken),
    )


def model_before_loop(
    recording: Recording, stack: tuple[Place, ...], trained: Place | None, made_at: Place | None
) -> ModelBeforeLoop | None:
    """`stack`: of the evaluation, innermost first; `trained`: the call of the model in training."""
    for place in stack:
        source = recording.source(place)
        statement = source.statement_at(place.line or 0) if source is not None else None
        if source is None or statement is None:
            continue
        for loop in source.loops_around(statement):
            if goes_through_epochs(loop) or not trains(source, loop, trained):
                continue
            found = next(creations(source, loop, made_at), None)
            if found is not None:
                return found
    return None


def goes_through_epochs(loop: Loop) -> bool:
    head = [loop.test] if isinstance(loop, ast.While) else [loop.target, loop.iter]
    words = {word for node in head for name in names_within(node) for word in words_of(name)}
    return bool(words & EPOCHS)


def trains(source: Source, loop: Loop, trained: Place | None) -> bool:
    """The training call is in the loop, or in a function that it calls."""
    if trained is None or trained.line is None:
        return False
    if trained.file == source.file and covers(loop, trained.line):
        return True
    calls = {called(node) for node in ast.walk(loop) if isinstance(node, ast.Call)}
    if trained.file != source.file:
        return bool(calls)
    functions = [known for name in calls for known in source.definitions.get(name, ())]
    return any(covers(function, trained.line) for function in functions)


def covers(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def creations(source: Source, loop: Loop, made_at: Place | None) -> Iterator[ModelBeforeLoop]:
    """Assignments before the loop, in the same function, of what the loop uses."""
    inside = set(names_in(loop)) | set(names_within(loop))
    bound = bound_by(loop)
    for node in source.every(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Name) or target.id not in inside or target.id in bound:
            continue
        if source.scope_of(node) is not source.scope_of(loop) or node.lineno >= loop.lineno:
            continue
        if isinstance(node.value, ast.Call) and creates(source, node, made_at):
            yield ModelBeforeLoop(source, target.id, node, loop)


def creates(source: Source, node: ast.Assign, made_at: Place | None) -> bool:
    """The model was made by this statement, or by a function that it calls."""
    calls = [call for call in ast.walk(node.value) if isinstance(call, ast.Call)]
    if made_at is None or made_at.line is None or made_at.file != source.file:
        words = {word for name in bound_by(node) for word in words_of(name)}
        return bool(words & MODEL) and not any(called(call) == "DataLoader" for call in calls)
    functions = [known for call in calls for known in source.definitions.get(called(call), ())]
    return any(covers(part, made_at.line) for part in (node, *functions))
