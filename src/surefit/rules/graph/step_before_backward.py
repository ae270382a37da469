"""An optimizer took a step between the forward pass of a loss and its backward pass.

## What happens
A step writes into the parameters in place. A loss that was computed with them before needs them as
they were: its `backward` says "one of the variables needed for gradient computation has been
modified by an inplace operation". Two losses with two optimizers, an actor and a critic or the two
halves of a GAN, meet it when both losses are computed first.

## Why it matters
The message names the operation that kept the weights, far from the step that changed them.

## What to do
Compute the second loss after the first optimizer's step, as the usual order is: loss, `backward`,
`step`, and only then the next loss. Putting both `backward` calls before both steps works, too,
where neither loss puts gradients into the other's parameters.

## How it is recognised
Of what the graph kept, torch counts more writings now than when it was kept. A second run notes
every operation that writes into a tensor: the first one after the weights were kept was an
optimizer's step, in the same round of the loop.

In a script that is only read: an optimizer steps, in the same round of a loop, between the call of
a layer that it holds and the `backward` of a loss that needs the layer's weights as they were.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, some
from surefit.evidence.graph_stories import (
    GraphStory,
    Overwritten,
    Stood,
    by_an_optimizer,
    story_of_overwritten_graph,
)
from surefit.evidence.repeated_steps import Made, when_made
from surefit.interpreter import violations, wording
from surefit.source.line_edits import moved_after
from surefit.source.reading import Source

RULE = Rule(
    "SF629",
    "step-before-backward",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"modified by an inplace operation",
            "whether an optimizer takes a step between the forward pass of this loss and its"
            " backward pass",
        ),
    ),
)


@RULE.on(Crash)
def weights_changed_under_a_graph(crash: Crash, seen: Recording) -> Iterator[Finding]:
    story = story_of_overwritten_graph(seen, crash) if is_cause(crash, seen) else None
    if story is None or not by_an_optimizer(story) or is_of_an_earlier_round(seen, story):
        return
    value = next(one for one in story.changed if one.changes)
    stack = value.changes[0].stack
    if not stack:
        return
    step = stack[-1]
    source = seen.source(step.file)
    line = source.lines[step.line - 1].strip() if source else value.changes[0].library
    yield RULE.finding(
        step.place,
        f"{code(line)} changes weights that a loss computed before it still needs for its"
        " `backward`.",
        facts=tuple(facts(story, value)),
        why="A step writes into the parameters; `backward` needs them as they were in the forward"
        " pass.",
        fixes=tuple(fixes(seen, story, value, step)),
        python_said=crash.said,
        about=crash.id,
    )


def is_of_an_earlier_round(seen: Recording, story: GraphStory) -> bool:
    """A state carries an old graph into this step: that is another fault."""
    whens = [when_made(seen, story, joint) for joint in story.joints]
    return any(when is not Made.IN_THIS_ROUND for when in whens)


def facts(story: GraphStory, value: Overwritten) -> Iterator[Fact]:
    names = [name for one in story.changed for name in one.parameters]
    if names:
        yield Fact("changed by the step", some(names))
    if value.made:
        yield Fact("used before it at", str(value.made[-1].place))
    if story.here:
        yield Fact("needed again at", f"{story.here[-1].place}, by `backward`")


def fixes(seen: Recording, story: GraphStory, value: Overwritten, step: Stood) -> Iterator[Fix]:
    source = seen.source(step.file)
    after = source.statement_at(step.line) if source else None
    if not value.passes:
        last = backward_statement(source, story, step) if source else None
        edit = moved_after(source, after, last) if source and after and last else None
        yield Fix(
            f"No backward pass came between: take the step after {code('backward')}, not before.",
            edit,
            GradientsStay(changes_the_past=True, together=1) if edit else None,
            "" if edit else "the two calls do not stand in one block",
        )
        return
    found = loss_statement(source, value, step) if source else None
    edit = moved_after(source, found, after) if source and found and after else None
    name = ast.unparse(found.targets[0]) if found else "the loss"
    yield Fix(
        f"Compute {code(name) if found else name} after that step.",
        edit,
        GradientsStay(changes_the_past=True, together=1) if edit else None,
        "" if edit else "what belongs before the step and what after it only you know",
    )


def backward_statement(source: Source, story: GraphStory, step: Stood) -> ast.stmt | None:
    for one in reversed(story.here):
        if (one.file, one.function) == (step.file, step.function):
            return source.statement_at(one.line)
    return None


def loss_statement(source: Source, value: Overwritten, step: Stood) -> ast.Assign | None:
    """The assignment in the function of the step that used the weights."""
    for one in reversed(value.made):
        if (one.file, one.function) == (step.file, step.function):
            statement = source.statement_at(one.line)
            return statement if isinstance(statement, ast.Assign) else None
    return None


@RULE.on(Script)
def step_in_the_source_comes_too_early(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.SavedValueOverwritten):
        if one.writer != "step" or one.earlier:
            continue
        yield RULE.finding(
            wording.place_of(source, one.written),
            f"{wording.text_of(source, one.written)} changes weights that a loss computed before it"
            " still needs for its `backward`.",
            facts=(
                Fact("used before it at", wording.line_at(source, one.operation.calls[0])),
                Fact("needed again at", wording.line_at(source, one.node)),
            ),
            why="A step writes into the parameters; `backward` needs them as they were in the"
            " forward pass.",
            fixes=(
                Fix(
                    "Call every `backward` before the first `step`, or compute the second loss"
                    " after it.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
