"""Something is computed once, before the loop, and every step goes back through its graph.

## What happens
Features, embeddings or a distance matrix are computed by a model before the training loop and used
by each step. They have one graph, and the first `backward` frees what it kept. The second step
fails: "Trying to backward through the graph a second time".

## Why it matters
`retain_graph=True` hides it: the gradients of the model that made the features then belong to the
weights that it had before the loop, or the optimizer's changes in place make `backward` fail again.

## What to do
If that model is not trained, compute the features without a graph: `.detach()`, or inside
`with torch.no_grad():`. If it is trained, compute them anew in every step.

## How it is recognised
All that the graph had kept is gone. A second run marks what each backward pass went through; the
tensor by which the new graph enters a marked one was made outside the loop. Whether an optimizer
holds parameters behind it decides which of the two ways is right.

In a script that is only read: something is computed by a trainable layer before a loop, and the
`backward` of every round goes through it.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted
from surefit.evidence.detaching import moved_into_loop
from surefit.evidence.graph_stories import GraphStory, Joint, story_of_used_up_graph
from surefit.evidence.repeated_steps import Made, Round, round_of, when_made
from surefit.interpreter import violations, wording
from surefit.source.edits import appended
from surefit.source.reading import Source

RULE = Rule(
    "SF622",
    "graph-made-before-the-loop",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Trying to backward through the graph a second time",
            "whether the loss uses a tensor with a graph that was computed before the loop",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class MadeOnce:
    """The statement that computed it."""

    source: Source
    statement: ast.Assign
    text: str


@RULE.on(Crash)
def every_step_uses_one_graph(crash: Crash, seen: Recording) -> Iterator[Finding]:
    story = story_of_used_up_graph(seen, crash) if is_cause(crash, seen) else None
    for joint in story.joints if story else ():
        if story is None or when_made(seen, story, joint) is not Made.BEFORE_THE_LOOP:
            continue
        once = made_once(seen, story, joint) if joint.freed else None
        if once is None:
            continue
        node = once.statement
        yield RULE.finding(
            Place(once.source.file, node.lineno, node.end_lineno),
            f"{code(once.text)} is computed once, before the loop, with a graph, and every step"
            " goes back through that graph; the first one has freed it.",
            facts=tuple(facts(joint, once)),
            why="`backward` frees what a graph kept as it passes through. `retain_graph=True` is no"
            " cure: what lies behind would get gradients for weights that it no longer has.",
            fixes=tuple(fixes(joint, once, round_of(seen, story.here))),
            python_said=crash.said,
            about=crash.id,
        )
        return


def made_once(seen: Recording, story: GraphStory, joint: Joint) -> MadeOnce | None:
    """The assignment on the stack that made it, in the function that went on to the loop."""
    stack = joint.origin or joint.made
    apart = [
        one
        for one, here in zip(stack, story.here, strict=False)
        if one.function == here.function and one.line != here.line
    ]
    if not apart:
        return None
    source = seen.source(apart[0].file)
    statement = source.statement_at(apart[0].line) if source else None
    if source is None or not isinstance(statement, ast.Assign):
        return None
    return MadeOnce(source, statement, ", ".join(ast.unparse(one) for one in statement.targets))


def facts(joint: Joint, once: MadeOnce) -> Iterator[Fact]:
    if joint.taken:
        last = joint.taken[-1]
        yield Fact("used by each step at", f"{last.file}:{last.line}")
    behind = counted(joint.leaves, "parameter")
    held = "all of them" if joint.held == joint.leaves else joint.held
    yield Fact(
        f"behind {code(once.text)}",
        f"{behind}; an optimizer holds {held if joint.held else 'none of them'}",
    )


def fixes(joint: Joint, once: MadeOnce, here: Round | None) -> Iterator[Fix]:
    node = once.statement
    if not joint.held:
        yield Fix(
            "No optimizer trains what made it: compute it without a graph, by `.detach()` or"
            " under `torch.no_grad()`.",
            appended(once.source, node.value, ".detach()") if is_single(node) else None,
            GradientsStay(),
            "" if is_single(node) else "it gives several values, and only you know which to detach",
        )
        return
    edit = moved_into_loop(once.source, node, here.loop) if here else None
    yield Fix(
        "An optimizer trains what made it: compute it anew in every step, inside the loop.",
        edit,
        GradientsStay(changes_the_past=True, together=1),
        "" if edit else "it reaches the loop by a way that only you can change",
    )


def is_single(node: ast.Assign) -> bool:
    return all(not isinstance(one, ast.Tuple | ast.List) for one in node.targets)


@RULE.on(Script)
def every_round_in_the_source_uses_one_graph(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.GraphFreed):
        if one.how != "before":
            continue
        node = one.birth
        names = wording.assigned_names(source, node)
        made = f"`{names[-1]}`" if names else wording.text_of(source, node)
        yield RULE.finding(
            wording.place_of(source, node),
            f"{made} is computed once, before the loop, with a graph, and every step goes back"
            " through that graph; the first one frees it.",
            facts=(Fact("`backward` is called at", wording.line_at(source, one.node)),),
            why="`backward` frees what a graph kept as it passes through.",
            fixes=(
                Fix(
                    "If it shall not be trained, compute it under `torch.no_grad()`; if it shall,"
                    " compute it anew in every step.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
