"""A line builds on a tensor whose graph an earlier `backward` has freed.

## What happens
`backward` frees what a graph kept as it passes through. A tensor of that step that is used again
afterwards, for a running mean, a memory, a moving centre, leads a later loss back into the graph:
`Trying to backward through the graph a second time`.

## Why it matters
The line that raises is the `backward` of the next step, and the line to change is in the step
before it. `retain_graph=True` keeps every earlier graph: each step is slower than the last.

## What to do
Use the value without its graph where it is stored for later: `.detach()`.

## How it is recognised
A second run shows the operation at which the loss of this step enters a graph that an earlier
`backward` has used up, and no other rule knows more about it.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.graphs import GraphUsedUp
from surefit.laws.training.rounds import Standing, innermost
from surefit.remedies.append import Append

SYMPTOM = Symptom(
    r"Trying to backward through the graph a second time",
    "which line builds on a tensor whose graph an earlier `backward` has freed",
)
RULE = Rule(
    "SF698",
    "graph-of-an-earlier-step",
    Severity.ERROR,
    __doc__,
    general=True,
    symptoms=(SYMPTOM,),
)
MOST = 4


@RULE.on(GraphUsedUp)
def loss_enters_a_freed_graph(broken: GraphUsedUp, case: Case) -> Finding | None:
    joint = next((joint for joint in broken.story.joints if joint.freed and joint.taken), None)
    here = innermost(case.recording, joint.taken) if joint is not None else None
    if joint is None or here is None or case.read:
        return None
    text = " ".join(here.source.segment(here.statement).split())
    built, freed = joint.made[-1:], joint.backward[-1:]
    return case.finding(
        Place(here.source.file, here.statement.lineno, here.statement.end_lineno),
        f"{code(text)} builds on a tensor whose graph an earlier `backward` has freed, and this"
        " step's loss leads back into it; it must be detached.",
        facts=(
            *(Fact("that graph is from", str(line.place)) for line in built),
            *(Fact("freed by", f"`backward` at {line.place}") for line in freed),
            Fact("the loss that fails", f"{broken.use.place}  {broken.use.text}"),
        ),
        why="`backward` frees what a graph kept; a value that is stored for later needs no graph.",
        remedies=detached(here, case),
    )


def detached(here: Standing, case: Case) -> Iterator[Remedy]:
    """Each of the names that the line reads, without its graph; the try shows which one it was."""
    every = list(ast.walk(here.statement))
    functions = [node.func for node in every if isinstance(node, ast.Call)]
    owners = [node.value for node in every if isinstance(node, ast.Attribute)]
    names = [node for node in every if isinstance(node, ast.Name)]
    read = [name for name in names if isinstance(name.ctx, ast.Load)]
    for node in [name for name in read if name not in [*functions, *owners]][-MOST:]:
        yield Append(
            at=case.expression(here.source, node),
            suffix=".detach()",
            words=f"Use the value without its graph: {code(node.id + '.detach()')}.",
            must=GradientsStay(),
            alike=False,
        )
