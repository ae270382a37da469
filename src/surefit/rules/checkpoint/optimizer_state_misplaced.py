"""An optimizer's loaded state belongs to other parameters: it is matched by position, not by name.

## What happens
`optimizer.load_state_dict` knows no names. The first saved moments go to the first parameter, the
second to the second. If the optimizer lists its groups or parameters in another order than the one
that was saved, Adam's moments of one tensor are held for another.

## Why it matters
Loading says nothing. The step fails as soon as two shapes differ; where all shapes agree it does
not fail at all, and every moment is that of another weight.

## What to do
List groups and parameters in the order in which they were saved.

## How it is recognised
The optimizer was at its step, and holds state of another shape than its parameter; or the state
that it was to load fits its groups in another order. The order is told by the shapes, where they
fit the groups in one way alone.

In a script that is only read: the state of an optimizer is loaded into another one with as many
parameters, whose shapes, known from the source, stand in another order.
"""

import ast
from collections.abc import Iterator, Sequence

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, listed, shape_of
from surefit.evidence.optimizer_states import Held, OptimizerState, optimizer_in, saved_order
from surefit.interpreter import violations, wording
from surefit.source.definitions import definition
from surefit.source.edits import replaced
from surefit.source.patches import Edit, both
from surefit.source.reading import Source, called

RULE = Rule(
    "SF905",
    "optimizer-state-misplaced",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"The size of tensor a .* must match the size of tensor b",
            "whether the optimizer holds state of another shape than its parameter",
            passed=r"torch/optim/",
        ),
    ),
)

MOST = 3
SAME_ORDER = "the order in which they were saved cannot be told from the shapes"


@RULE.on(Crash)
def state_is_that_of_another_parameter(crash: Crash, seen: Recording) -> Iterator[Finding]:
    state = optimizer_in(crash, seen) if is_cause(crash, seen) else None
    wrong = [one for one in state.held if one.misfits] if state else []
    frame = crash.own_frame
    if state is None or frame is None:
        return
    order = saved_order(state)
    if not wrong and order is None:
        return
    place = state.made_at or frame.place
    yield RULE.finding(
        place,
        headline(state, wrong, order),
        facts=tuple(facts(wrong, order)),
        ruled_out=tuple(not_the_layers(state)),
        why="`load_state_dict` of an optimizer matches parameters by position, and knows no names.",
        fixes=(fix(state, wrong, order, seen),),
        python_said=crash.said,
        about=crash.id,
    )


def headline(state: OptimizerState, wrong: list[Held], order: tuple[int, ...] | None) -> str:
    what = "groups" if order is not None else "parameters"
    other = f"its {what} stand in another order than when its state was saved"
    if not wrong:
        return f"The state of `{state.kind}` does not fit: {other}."
    return (
        f"`{state.kind}` holds the state of other parameters for {len(wrong)} of"
        f" {len(state.held)}: {other}."
    )


def facts(wrong: list[Held], order: tuple[int, ...] | None) -> Iterator[Fact]:
    for one in wrong[:MOST]:
        key, shape = next(iter(one.state.items()))
        name = code(one.name) if one.name else "a parameter"
        yield Fact(f"{name} {shape_of(one.shape)}", f"`{key}` is {shape_of(shape)}")
    if order is not None:
        numbers = listed([number + 1 for number in order])
        yield Fact("groups as saved", f"{numbers} of the groups here, by their shapes")


def not_the_layers(state: OptimizerState) -> Iterator[Fact]:
    if all(one.gradient in (None, one.shape) for one in state.held):
        yield Fact("layers", "every gradient has the shape of its parameter")


def fix(
    state: OptimizerState, wrong: list[Held], order: tuple[int, ...] | None, seen: Recording
) -> Fix:
    text = "List the parameter groups in the order in which they were saved."
    if order is None:
        return Fix(text, why_not_tried=SAME_ORDER)
    edit = reordered(state, order, seen)
    names = tuple(one.name for one in wrong or state.held if one.name)
    why_not = "" if edit else "the list of groups was not found in your source"
    return Fix(text, edit, Moves(names), why_not)


def reordered(state: OptimizerState, order: Sequence[int], seen: Recording) -> Edit | None:
    """The items of the list that the optimizer was made from, in their saved order."""
    made, source = state.made_at, seen.source(state.made_at)
    if made is None or source is None or made.line is None:
        return None
    items = groups_at(source, made.line, state.kind)
    if items is None or len(items) != len(order):
        return None
    edit: Edit | None = None
    for at, number in enumerate(order):
        if at != number:
            one = replaced(source, items[at], source.segment(items[number]))
            edit = both(edit, one) if edit else one
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


@RULE.on(Script)
def order_in_the_source_differs(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.OptimizerStateMismatch):
        saved, has = [len(group) for group in one.saved], [len(group) for group in one.has]
        if (saved == has) is True:
            yield RULE.finding(
                wording.place_of(source, one.optimizer),
                f"`{one.kind}` lists its parameters in another order than the one whose state it"
                " loads:"
                " moments of one tensor are held for another.",
                facts=(Fact("loaded at", wording.line_at(source, one.node)),),
                why="An optimizer's state goes by position: it knows no names.",
                fixes=(
                    Fix(
                        "List the groups in the order in which they were saved.",
                        why_not_tried=wording.ONLY_READ,
                    ),
                ),
                severity=Severity.WARNING,
            )
