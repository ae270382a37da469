"""Something is computed once, before the loop, and every step goes back through its graph.

## What happens
Features, embeddings or a distance matrix are computed by a model before the training loop and used
by each step. They have one graph, and the first `backward` frees what it kept. The second step
fails: "Trying to backward through the graph a second time".

## Why it matters
`retain_graph=True` hides it: the gradients of the model that computed the features then belong to
the weights that it had before the loop, or the optimizer's changes in place make `backward` fail.

## What to do
If that model is not trained, compute the features without a graph: `.detach()`, or inside
`with torch.no_grad():`. If it is trained, compute them again in every step.

## How it is recognised
All that the graph had kept is gone. In a second run the tensor by which the new graph enters a used
one was computed outside the loop. Whether an optimizer holds its parameters decides what is right.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.graph_stories import Joint, When
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.graphs import GraphUsedUp
from surefit.laws.training.rounds import innermost, loop_of, when_computed
from surefit.remedies.change import Change
from surefit.remedies.detach import moved_into_loop
from surefit.source.edits import appended
from surefit.source.reading import Source

SYMPTOM = Symptom(
    r"Trying to backward through the graph a second time",
    "whether the loss uses a tensor with a graph that was computed before the loop",
)
RULE = Rule("SF622", "graph-made-before-the-loop", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(GraphUsedUp)
def every_step_uses_one_graph(broken: GraphUsedUp, case: Case) -> Finding | None:
    for joint in broken.story.joints:
        before = when_computed(case.recording, broken.story, joint) is When.BEFORE_THE_LOOP
        assigned = assignment(broken, case, joint) if before and joint.freed else None
        if assigned is None:
            continue
        source, statement = assigned
        name = code(", ".join(ast.unparse(target) for target in statement.targets))
        held = "all of them" if joint.held == joint.leaves else joint.held or "none of them"
        held = f"{counted(joint.leaves, 'parameter')}; an optimizer holds {held}"
        taken = [Fact("used by each step at", str(line.place)) for line in joint.taken[-1:]]
        known = [Fact(f"{name} is computed by", held)] if joint.leaves else []
        return case.finding(
            case.expression(source, statement.value).place,
            f"{name} is computed once, before the loop, with a graph, and every step goes back"
            " through that graph; the first one has freed it.",
            facts=(*taken, *known),
            why="`backward` frees what a graph kept as it passes through. `retain_graph=True` is no"
            " cure: these parameters would get gradients for weights that they no longer have.",
            remedies=remedies(broken, case, joint, source, statement),
        )
    return None


def assignment(broken: GraphUsedUp, case: Case, joint: Joint) -> tuple[Source, ast.Assign] | None:
    """On the stack that computed it, in the function that went on to the loop."""
    for line, here in zip(joint.origin or joint.made, broken.story.here, strict=False):
        if line.function == here.function and line.line != here.line:
            at = innermost(case.recording, [line])
            assigned = at.statement if at else None
            return (at.source, assigned) if at and isinstance(assigned, ast.Assign) else None
    return None


def remedies(
    broken: GraphUsedUp, case: Case, joint: Joint, source: Source, statement: ast.Assign
) -> Iterator[Remedy | Fix]:
    single = not any(isinstance(target, ast.Tuple | ast.List) for target in statement.targets)
    known = joint.leaves > 0
    if not joint.held:
        condition = "No" if known else "If no"
        words = f"{condition} optimizer trains it: compute it without a graph, by `.detach()`."
        edit = appended(source, statement.value, ".detach()") if single else None
        detach = Change(to=edit, words=words, must=GradientsStay(), choice=not known)
        yield detach if edit else Fix(words, choice=True)
    if joint.held or not known:
        condition = "An" if known else "If an"
        words = f"{condition} optimizer trains it: compute it in every step, inside the loop."
        around = loop_of(case.recording, broken.story.here)
        edit = moved_into_loop(source, statement, around[1]) if around else None
        must = GradientsStay(changes_the_past=True, together=1)
        moved = Change(to=edit, words=words, must=must, choice=not known)
        yield moved if edit else Fix(words, choice=True)
