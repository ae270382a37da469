"""Nothing that the optimizer holds requires grad: it was frozen before or after the hand-over.

## What happens
`requires_grad = False` was set on the very parameters that the optimizer should train: after they
were handed to it, by a filter on names that also fits the new head, or on the whole model. Other
parameters still require grad, batch norms say, or the inputs do, so that `backward` runs.

## Why it matters
An optimizer passes over parameters without a gradient, silently. Running statistics of batch norm
go on changing, so that the loss drifts and training looks alive.

## What to do
Freeze only what must stay frozen, then unfreeze what should be trained, then create the optimizer
from the parameters that require grad.

## How it is recognised
At every step that was looked at, no tensor of the optimizer had a gradient, and none of them
required one. Not reported where another optimizer learns in the same phase.
"""

import ast
from collections.abc import Iterator, Sequence

from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.weights_learn import FrozenWeights
from surefit.laws.layers.freezing import Freezing, freezing_call, freezing_in
from surefit.laws.runs import law_holds
from surefit.remedies.change import Change
from surefit.source.edits import inserted_after
from surefit.source.line_edits import shares_lines
from surefit.source.reading import Function

RULE = Rule("SF611", "frozen-parameters-in-the-optimizer", Severity.ERROR, __doc__)

MOST_PLACES = 3


@RULE.on(FrozenWeights)
def optimizer_holds_frozen_parameters(broken: FrozenWeights, case: Case) -> Finding:
    held = broken.held
    freezings = [
        freezing_call(case.recording, freezing) for freezing in freezing_in(case.recording)
    ]
    places = in_order(freezings, broken.use.place)
    modules = optimized(case, broken)
    tensors = counted(held.tensors, "tensor")
    later = held.handed_trainable
    when = " They were frozen after the optimizer got them." if later else ""
    what = f" ({', '.join(map(code, modules))})" if modules else ""
    return case.finding(
        (places[0].place if places else broken.use.place),
        f"None of the {tensors} that {broken.name} holds{what} requires grad: `requires_grad` is"
        f" False, the optimizer holds frozen parameters only, and nothing is trained.{when}",
        facts=(
            *broken.facts,
            Fact("required grad when handed over", f"{later or 0:,} of {held.tensors:,}"),
            Fact("require grad when it steps", f"0 of {held.tensors:,}, at {held.empty:,} steps"),
            *(Fact("frozen at", str(freezing.place)) for freezing in places),
        ),
        why="An optimizer changes parameters that have a gradient; those with `requires_grad=False`"
        " never get one.",
        remedies=tuple(remedies(broken, case, places, modules)),
    )


def in_order(freezings: Sequence[Freezing], optimizer: Place) -> list[Freezing]:
    """In the optimizer's file before others, the last first."""
    distinct = {(known.place.file, known.place.line): known for known in freezings}
    ranked = sorted(
        distinct.values(),
        key=lambda known: (known.source.file != optimizer.file, -(known.place.line or 0)),
    )
    return ranked[:MOST_PLACES]


def optimized(case: Case, broken: FrozenWeights) -> list[str]:
    """`model.fc` of `Adam(model.fc.parameters())`, for every module that it was given."""
    source, line = case.source(broken.use.place), broken.use.place.line
    statement = source.statement_at(line) if source and line else None
    found = []
    for node in ast.walk(statement) if statement is not None else ():
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="parameters" | "named_parameters")):
                found.append(source.segment(owner) if source else "")
    return [text for text in dict.fromkeys(found) if text]


def remedies(
    broken: FrozenWeights, case: Case, places: Sequence[Freezing], modules: Sequence[str]
) -> Iterator[Remedy | Fix]:
    must = law_holds(broken)
    parts = [module for module in modules if "." in module]
    for freezing in [known for known in places if same_function(case, broken, known)][:1]:
        for module in parts:
            line = f"{module}.requires_grad_(True)"
            words = f"Unfreeze what {broken.name} should train, after this: {code(line)}."
            last = outermost(freezing)
            if not shares_lines(freezing.source, last):
                edit = inserted_after(freezing.source, last, line)
                yield Change(to=edit, words=words, must=must)
    for freezing in places:
        words = f"Take the line out that freezes, {freezing.place}."
        yield Change(to=freezing.without, words=words, must=must, choice=bool(parts))
    yield Fix(
        "Freeze only what must stay frozen, then create the optimizer from what requires grad:"
        " `[p for p in model.parameters() if p.requires_grad]`.",
        choice=True,
    )


def same_function(case: Case, broken: FrozenWeights, freezing: Freezing) -> bool:
    source, line = case.source(broken.use.place), broken.use.place.line
    statement = source.statement_at(line) if source and line else None
    if source is None or statement is None or freezing.source.file != source.file:
        return False
    return source.scope_of(freezing.statement) is source.scope_of(statement)


def outermost(freezing: Freezing) -> ast.stmt:
    """The loop that a line which freezes stands in; of several the outermost of the function."""
    source, last = freezing.source, freezing.statement
    for outer in source.up(freezing.statement):
        if isinstance(outer, Function | ast.Module | ast.ClassDef):
            break
        if isinstance(outer, ast.For | ast.If | ast.While):
            last = outer
    return last
