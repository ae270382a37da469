"""An optimizer took a step between the forward pass of a loss and its backward pass.

## What happens
A step writes into the parameters in place. A loss that was computed with them before needs them as
they were, and its `backward` fails. Two losses with two optimizers, an actor and a critic or the
two halves of a GAN, meet it when both losses are computed first.

## Why it matters
The message names the operation that kept the weights, far from the step that changed them.

## What to do
Compute the second loss after the first optimizer's step, as the usual order is: loss, `backward`,
`step`, and only then the next loss. In a GAN, score the fakes again by the updated critic, and
detach them in the critic's own loss. Putting both `backward` calls before both steps works, too,
where neither loss puts gradients into the other's parameters.

## How it is recognised
Of what the graph kept, torch counts more writes now than when it was kept. In a second run the
first write after the weights were kept was an optimizer's step, in the same round of the loop.
"""

import ast
from collections.abc import Iterator, Sequence

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.graph_stories import OverwrittenValue, Stood, When
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, some
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.graphs import ValueOverwritten
from surefit.laws.training.rounds import when_computed
from surefit.remedies.change import Change
from surefit.remedies.computed_again import computed_again, first_detached
from surefit.source.edits import both
from surefit.source.line_edits import moved_after
from surefit.source.reading import Source

SYMPTOM = Symptom(
    r"modified by an inplace operation",
    "whether an optimizer takes a step between the forward pass of this loss and its backward pass",
)
RULE = Rule("SF629", "step-before-backward", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(ValueOverwritten)
def weights_changed_under_a_graph(broken: ValueOverwritten, case: Case) -> Finding | None:
    story, value = broken.story, broken.story.first_overwritten
    stack = value.changes[0].stack if value else ()
    if value is None or not stack or not story.by_an_optimizer:
        return None
    rounds = [when_computed(case.recording, story, joint) for joint in story.joints]
    if any(when is not When.IN_THIS_ROUND for when in rounds):
        return None  # a state carries an old graph into this step: that is another fault
    step = stack[-1]
    source = case.source(step.file)
    line = source.lines[step.line - 1].strip() if source else value.changes[0].library
    names = [name for changed in story.changed for name in changed.parameters]
    rows = {
        "changed by the step": some(names) if names else "",
        "used before it at": str(value.made[-1].place) if value.made else "",
        "needed again at": f"{story.here[-1].place}, by `backward`" if story.here else "",
    }
    return case.finding(
        step.place,
        f"{code(line)} changes weights that a loss computed before it still needs for its"
        " `backward`.",
        facts=[Fact(name, shown) for name, shown in rows.items() if shown],
        why="A step writes into the parameters; `backward` needs them as they were in the forward"
        " pass.",
        remedies=remedies(broken, value, step, source),
    )


def remedies(
    broken: ValueOverwritten, value: OverwrittenValue, step: Stood, source: Source | None
) -> Iterator[Remedy | Fix]:
    must = GradientsStay(changes_the_past=True, together=1)
    stepping = source.statement_at(step.line) if source else None
    if not value.passes:
        last = statement_of(source, broken.story.here, step)
        words = "No backward pass came between: take the step after `backward`, not before."
        edit = moved_after(source, stepping, last) if source and stepping and last else None
    else:
        loss = statement_of(source, value.made, step)
        assigned = loss if isinstance(loss, ast.Assign) else None
        name = code(ast.unparse(assigned.targets[0])) if assigned else "the loss"
        words = f"Compute {name} after that step."
        edit = moved_after(source, assigned, stepping) if source and assigned and stepping else None
        if edit is None and source and assigned and stepping:
            yield from again(source, assigned, stepping, must)
            return
    yield Change(to=edit, words=words, must=must) if edit else Fix(words, choice=True)


def again(
    source: Source, first: ast.Assign, step: ast.stmt, must: Condition
) -> Iterator[Remedy | Fix]:
    """Where the first loss needs the value, too, as in a GAN: computed twice."""
    name = code(ast.unparse(first.targets[0]))
    recomputed = computed_again(source, first, step)
    if recomputed is None:
        yield Fix(f"Compute {name} again after that step, and use the new one there.", choice=True)
        return
    edit, text = recomputed
    words = f"Compute {name} again after that step, by the updated weights: {code(text)}."
    detached = first_detached(source, first, step)
    if detached is not None:
        cut, taken = detached
        more = f" Detach `{taken}` in the first, whose loss trains nothing behind it."
        yield Change(to=both(cut, edit), words=words + more, must=must)
    yield Change(to=edit, words=words, must=must, choice=detached is not None)


def statement_of(source: Source | None, stack: Sequence[Stood], step: Stood) -> ast.stmt | None:
    """The statement of a stack in the function of the step."""
    same = [line for line in stack if (line.file, line.function) == (step.file, step.function)]
    return source.statement_at(same[-1].line) if source and same else None
