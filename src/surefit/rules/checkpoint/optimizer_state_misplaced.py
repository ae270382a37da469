"""An optimizer's loaded state belongs to other parameters: it is matched by position, not by name.

## What happens
`optimizer.load_state_dict` has no names. The first saved moments go to the first parameter, the
second to the second. If the optimizer lists its groups or parameters in another order than the one
that was saved, Adam's moments of one tensor are held for another.

## Why it matters
Loading says nothing. The step fails as soon as two shapes differ; where all shapes agree it does
not fail at all, and every moment is that of another weight.

## What to do
List groups and parameters in the order in which they were saved.

## How it is recognised
The optimizer was at its step, and holds state of another shape than its parameter; or the state
that it was to load fits its groups, by their shapes, in another order alone.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, listed, shape_of
from surefit.laws.case import Case
from surefit.laws.contracts.optimizer_states import OptimizerState, StateOfOtherParameters
from surefit.remedies.change import Change
from surefit.source.definitions import definition
from surefit.source.edits import replaced
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

SYMPTOM = Symptom(
    r"The size of tensor a .* must match the size of tensor b",
    "whether the optimizer holds state of another shape than its parameter",
    passed=r"torch/optim/",
)
RULE = Rule("SF905", "optimizer-state-misplaced", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

MOST = 3


@RULE.on(StateOfOtherParameters)
def state_is_that_of_another_parameter(
    broken: StateOfOtherParameters, case: Case
) -> Finding | None:
    state = broken.state
    if not state.misfits and state.saved_order is None:
        return None
    held = [parameter for group in state.groups for parameter in group]
    kept = all(parameter.gradient in (None, parameter.shape) for parameter in held)
    names = tuple(parameter.name for parameter in state.misfits or held if parameter.name)
    fitting = (Fact("layers", "every gradient has the shape of its parameter"),)
    return case.finding(
        state.made_at or broken.use.place,
        headline(state, len(held)),
        facts=facts(state),
        ruled_out=fitting if kept else (),
        why="`load_state_dict` of an optimizer matches parameters by position; it has no names.",
        remedies=(
            Change(
                to=reordered(state, case),
                words="List the parameter groups in the order in which they were saved.",
                must=Moves(names),
            ),
        ),
    )


def headline(state: OptimizerState, held: int) -> str:
    what = "groups" if state.saved_order is not None else "parameters"
    order = f"its {what} are in another order than when its state was saved"
    if not state.misfits:
        return f"The state of `{state.kind}` does not fit: {order}."
    count = len(state.misfits)
    return f"`{state.kind}` holds the state of other parameters for {count} of {held}: {order}."


def facts(state: OptimizerState) -> Iterator[Fact]:
    for parameter in state.misfits[:MOST]:
        key, shape = next(iter(parameter.state.items()))
        name = code(parameter.name) if parameter.name else "a parameter"
        yield Fact(f"{name} {shape_of(parameter.shape)}", f"`{key}` is {shape_of(shape)}")
    if state.saved_order is not None:
        numbers = listed([number + 1 for number in state.saved_order])
        yield Fact("groups as saved", f"{numbers} of the groups here, by their shapes")


def reordered(state: OptimizerState, case: Case) -> Edit | None:
    """The items of the list that the optimizer was created from, in their saved order."""
    order, source = state.saved_order, case.source(state.made_at)
    line = state.made_at.line if state.made_at else None
    items = groups_at(source, line, state.kind) if source and line else None
    if order is None or source is None or items is None or len(items) != len(order):
        return None
    edit: Edit | None = None
    for at, number in enumerate(order):
        if at != number:
            change = replaced(source, items[at], source.segment(items[number]))
            edit = both(edit, change) if edit else change
    return edit


def groups_at(source: Source, line: int, kind: str) -> list[ast.expr] | None:
    statement = source.statement_at(line)
    for call in ast.walk(statement) if statement else ():
        if isinstance(call, ast.Call) and called(call) == kind and call.args:
            groups: ast.expr | None = call.args[0]
            if isinstance(groups, ast.Name):
                groups = definition(source, groups)
            return groups.elts if isinstance(groups, ast.List) else None
    return None
