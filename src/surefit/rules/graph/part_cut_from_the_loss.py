"""A part of the model never gets a gradient: `detach`, `no_grad` or `item` cuts it from the loss.

## What happens
What a layer gives goes on through `.detach()`, `.data`, `.item()`, NumPy, `argmax`, a new
`torch.tensor(...)`, or is computed under `torch.no_grad()`. The value arrives at the loss, and the
gradient stops there: everything before it keeps its first weights.

## Why it matters
The rest of the model learns around the random part, and the loss falls, if less than it could.

## What to do
Take the cut out. If that part must not learn, freeze it (`requires_grad_(False)`) and do not give
it to the optimizer: then nobody has to wonder.

## How it is recognised
Parameters that an optimizer holds require grad and had no gradient at any step that was looked at,
while others had. A second run follows the loss back through every operation, with and without a
graph, and finds the operation behind which all of them lie and which gives a value without a graph.
Not reported: parts whose output does not reach the loss (heads that this phase does not use), parts
that were loaded or copied, and those that change all the same, as a moving average does.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.parameters import GradientsFlow
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.gradient_births import CutFromTheLoss, ForwardValue
from surefit.doctor.graph_stories import COPYING, DETACHING, TO_NUMBERS, Cut, LostGraph
from surefit.doctor.progress import final_steps
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, counted, some
from surefit.laws.case import Case, Remedy
from surefit.laws.invariants.weights_learn import (
    NoGradientArrives,
    OfOptimizer,
    PartWithoutGradient,
)
from surefit.laws.layers.parameter_groups import smallest_groups
from surefit.laws.training.creation_order import READY
from surefit.laws.training.grad_switches import switch_of
from surefit.laws.training.lost_graphs import expression_of
from surefit.laws.training.step_calls import calls_named
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind
from surefit.remedies.change import Change
from surefit.remedies.keep_the_graph import KeepTheGraph, how_it_cuts
from surefit.source.reading import called

RULE = Rule("SF642", "part-cut-from-the-loss", Severity.ERROR, __doc__)

MOST_ASKED = 64

TAKES_NUMBERS = ("item", "tolist", "float", "detach", "numpy")


@RULE.on(PartWithoutGradient)
def gradient_does_not_reach_a_part(broken: PartWithoutGradient, case: Case) -> Finding | None:
    names = list(broken.held.missing)
    if comes_ready(case, names):
        return None
    return explained(broken, case, names)


@RULE.on(NoGradientArrives)
def gradient_does_not_reach_the_model(broken: NoGradientArrives, case: Case) -> Finding | None:
    every = [
        known
        for steps in final_steps(case.recording)
        for known in steps.parameters
        if known.held_by == broken.optimizer.serial
    ]
    outside = [known for steps in final_steps(case.recording) for known in steps.outside]
    if outside or not broken.held.trainable:
        return None
    return explained(broken, case, [known.name for known in every])


def comes_ready(case: Case, names: list[str]) -> bool:
    """Loaded weights, or a copy: nobody wants to train these from the beginning."""
    wanted = set(names)
    for steps in final_steps(case.recording):
        for known in steps.parameters:
            if known.name not in wanted:
                continue
            source = case.source(known.made_at)
            line = known.made_at.line if known.made_at else None
            statement = source.statement_at(line) if source and line else None
            if source is None or statement is None:
                return True
            if any(word in source.segment(statement) for word in READY):
                return True
    return False


def explained(broken: OfOptimizer, case: Case, names: list[str]) -> Finding | None:
    step = broken.held.first_step
    cut = case.ask(CutFromTheLoss, step=step, names=list(names[:MOST_ASKED]))
    operation = cut.operation if cut is not None else None
    if cut is None or operation is None or not operation.stack:
        return taken_in_as_a_number(broken, case, names)
    groups = smallest_groups(cut.names, every_name(broken, case))
    never = "never gets a gradient" if len(groups) == 1 else "never get a gradient"
    switch = None if cut.enabled else switch_of(case.recording, operation.stack)
    written = expression_of(case, as_cut(operation, cut))
    if switch is not None:
        place = Place(switch.source.file, switch.node.lineno)
        how = f"it is computed with gradients switched off by {code(switch.text)}"
    elif written is not None:
        place, how = written.place, f"{code(written.text)} {how_it_cuts(as_cut(operation, cut))}"
    elif operation.name in (*DETACHING, *COPYING, *TO_NUMBERS):
        place, how = operation.stack[-1].place, f"`{operation.name}` gives a value without a graph"
    else:
        return None
    remedies: list[Remedy | Fix] = list(ways(broken, case, cut, operation, written))
    if switch is not None:
        edit = switch.taken_out()
        advice = switch.advice
        remedies = [
            Change(to=edit, words=advice, must=reached(broken, case, cut)) if edit else Fix(advice)
        ]
    return case.finding(
        place,
        f"{some(groups)} {never}: {how}, and what is before it is cut off from the loss.",
        facts=(
            *broken.facts,
            Fact("without a gradient", f"{len(names):,} of {broken.held.tensors:,} tensors"),
            Fact("they require grad", "yes, and the optimizer holds them"),
            Fact("behind the cut", counted(len(cut.names), "tensor")),
        ),
        why="A gradient flows along recorded operations only. The value passes, and the optimizer"
        " passes over tensors without a gradient.",
        remedies=remedies,
    )


def taken_in_as_a_number(broken: OfOptimizer, case: Case, names: list[str]) -> Finding | None:
    """No operation on tensors leads on: the loss adds up plain numbers."""
    written = cut_on_the_way(case, broken.held.first_step)
    if written is None:
        return None
    groups = smallest_groups(names, every_name(broken, case))
    never = "never gets a gradient" if len(groups) == 1 else "never get a gradient"
    name = written.text.rpartition(".")[2].partition("(")[0] if "." in written.text else "float"
    cut = Cut(name, (), True, inference=False, floating=True)
    must = GradientsFlow(tuple(names), changes_the_past=True, steps=broken.steps)
    return case.finding(
        written.place,
        f"{some(groups)} {never}: {code(written.text)} {how_it_cuts(cut)}, and the loss takes in"
        " that constant.",
        facts=(
            *broken.facts,
            Fact("without a gradient", f"{len(names):,} of {broken.held.tensors:,} tensors"),
            Fact("they require grad", "yes, and the optimizer holds them"),
        ),
        why="A plain number has no graph: its term changes the value of the loss and not the"
        " gradients.",
        remedies=KeepTheGraph(case, must).ways(written, cut, LostGraph(cuts=(cut,))),
    )


def every_name(broken: OfOptimizer, case: Case) -> list[str]:
    return [
        known.name
        for steps in final_steps(case.recording)
        for known in steps.parameters
        if known.held_by == broken.optimizer.serial
    ]


def reached(broken: OfOptimizer, case: Case, cut: CutFromTheLoss) -> Condition:
    """What was cut off gets gradients."""
    beside = [
        sorted(known.serial for known in steps.optimizers)
        for steps in final_steps(case.recording)
        if broken.optimizer in steps.optimizers
    ]
    return GradientsFlow(
        cut.names,
        changes_the_past=True,
        steps=broken.steps,
        optimizer=beside[0].index(broken.optimizer.serial) if beside else None,
    )


def as_cut(operation: ForwardValue, cut: CutFromTheLoss) -> Cut:
    return Cut(
        operation.name,
        operation.stack,
        cut.enabled,
        inference=False,
        floating=operation.name in (*DETACHING, *COPYING, *TO_NUMBERS),
    )


def ways(
    broken: OfOptimizer,
    case: Case,
    cut: CutFromTheLoss,
    operation: ForwardValue,
    written: Expression | None,
) -> Iterator[Remedy | Fix]:
    if written is not None:
        known = as_cut(operation, cut)
        keeping = KeepTheGraph(case, reached(broken, case, cut))
        yield from keeping.ways(written, known, LostGraph(cuts=(known,)))
    yield Fix(
        "If that part must not learn, freeze it: `requires_grad_(False)`, and leave it out of the"
        " optimizer.",
        choice=True,
    )


def cut_on_the_way(case: Case, step: int) -> Expression | None:
    """The one call on the lineage of the loss that gives a value without the graph it had."""
    losses = [
        case.expression(source, backward.call.func.value)
        for source in case.recording.sources()
        for backward in calls_named(source, "backward")
        if isinstance(backward.call.func, ast.Attribute) and not backward.call.args
    ]
    if len(losses) != 1:
        return None
    lineage = case.lineage_at(losses[0], step)
    cuts = {
        f"{producer.place}{producer.span}": producer for producer in cutting_calls(lineage, case)
    }
    if len(cuts) != 1:
        return None
    (cut,) = cuts.values()
    return Expression(cut.place, cut.span, cut.text)


def cutting_calls(lineage: Lineage, case: Case) -> Iterator[Producer]:
    for producer in lineage.producers:
        node = case.node(producer) if producer.kind is ProducerKind.CALL else None
        if not isinstance(node, ast.Call) or called(node) not in TAKES_NUMBERS:
            continue
        before = [inner.value for _, inner in lineage.inputs(producer)]
        if any(value.requires_grad for value in before) and not producer.value.requires_grad:
            yield producer
