"""A state is carried from one step to the next together with the graph of the step that made it.

## What happens
A hidden state, a running average or a running loss is kept for the next batch. It still belongs to
the graph of the batch that made it, and `backward` has freed what that graph kept. The loss of the
next batch leads back into it, and `backward` fails there: "Trying to backward through the graph a
second time".

## Why it matters
The first step works, and the advice in the message, `retain_graph=True`, only moves the fault:
every step then goes back through all steps before it, memory grows without end, and the optimizer
has written into the weights that the old graphs need.

## What to do
Keep the value and let the graph go: `state = state.detach()`, for `(h, c)` each of the two. This is
truncated backpropagation through time (BPTT). For a running loss call `backward` on the loss of the
batch, and add `loss.detach()` or `loss.item()` to the sum.

## How it is recognised
All that the graph had kept is gone. A second run marks what each backward pass went through, and
finds the tensor by which the new graph enters a marked one; the name that held it between the two
passes, and the statement in the loop that gives it this name, say what is carried. Where
`retain_graph=True` kept the old graph, the weights that it needs were written to by a step.

In a script that is only read: what one round of a loop computes with a graph is used by the next
one, whose `backward` goes through what the round before has freed.
"""

import ast
from collections.abc import Iterator
from functools import reduce

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, spoken
from surefit.evidence.carried_state import Carrier, carrier_of
from surefit.evidence.detaching import detached, running_loss_detached, without_retaining
from surefit.evidence.graph_stories import (
    GraphStory,
    Joint,
    by_an_optimizer,
    story_of_overwritten_graph,
    story_of_used_up_graph,
)
from surefit.evidence.repeated_steps import Made, when_made
from surefit.interpreter import violations, wording
from surefit.source.edits import both
from surefit.source.reading import Source

RULE = Rule(
    "SF621",
    "state-carried-without-detach",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Trying to backward through the graph a second time",
            "whether the loss of a batch depends on a tensor that an earlier batch made",
        ),
        Symptom(
            r"modified by an inplace operation",
            "whether `retain_graph=True` keeps the graph of an earlier batch, which a step of the"
            " optimizer has made useless",
        ),
    ),
)

NO_CURE = (
    " `retain_graph=True` is no cure: each step would go back through all steps before it, and the"
    " optimizer has changed the weights that their graphs need."
)

TRUNCATED = "; that is truncated backpropagation through time (BPTT)"


@RULE.on(Crash)
def state_of_an_earlier_step_has_its_graph(crash: Crash, seen: Recording) -> Iterator[Finding]:
    story = story_of_old_graph(seen, crash) if is_cause(crash, seen) else None
    found = carriers(seen, story) if story else {}
    if story is None or not found:
        return
    first, joint = next(iter(found.values()))
    node = first.statement
    yield RULE.finding(
        Place(first.source.file, node.lineno, node.end_lineno),
        headline(crash, first, list(found), joint),
        facts=tuple(facts(first, joint, seen)),
        why=why(first, joint),
        fixes=tuple(fixes(crash, [carrier for carrier, _ in found.values()], story)),
        python_said=crash.said,
        about=crash.id,
    )


def story_of_old_graph(seen: Recording, crash: Crash) -> GraphStory | None:
    """Of one that is used up; or that was kept by `retain_graph=True`, while the optimizer went on
    to change the weights that it needs."""
    story = story_of_overwritten_graph(seen, crash)
    if story is not None:
        return story if by_an_optimizer(story) else None
    return story_of_used_up_graph(seen, crash)


def carriers(seen: Recording, story: GraphStory) -> dict[str, tuple[Carrier, Joint]]:
    """By the text of each; `h, c = cell(x, (h, c))` carries two. In the order of the source."""
    found: dict[str, tuple[Carrier, Joint]] = {}
    for joint in story.joints:
        made = when_made(seen, story, joint)
        if (joint.freed or joint.retained) and made is Made.IN_AN_EARLIER_ROUND:
            carrier = carrier_of(seen, story, joint)
            if carrier is None:
                return {}
            found.setdefault(carrier.text, (carrier, joint))
    return dict(sorted(found.items(), key=lambda one: position(one[1][0])))


def position(carrier: Carrier) -> tuple[int, int]:
    """Of the name in its statement, as near as it can be told."""
    text = carrier.source.segment(carrier.statement)
    return carrier.statement.lineno, text.find(carrier.text)


def headline(crash: Crash, carrier: Carrier, texts: list[str], joint: Joint) -> str:
    name = spoken([code(text) for text in texts])
    if is_running_loss(crash, carrier):
        return (
            f"{name} is a sum over steps and is called `backward` on in each of them: it still has"
            " the graphs of the earlier steps, which were freed."
        )
    kept, must = ("is", "it must") if len(texts) == 1 else ("are", "they must")
    end = (
        "and the optimizer has changed the weights that this graph needs"
        if joint.retained
        else "which that step's `backward` has freed"
    )
    return (
        f"{name} {kept} carried from one step to the next with the graph of the previous step,"
        f" {end}; {must} be detached."
    )


def is_running_loss(crash: Crash, carrier: Carrier) -> bool:
    """The very name that `backward` was called on is what is carried."""
    frame = crash.own_frame
    called_on = (frame.expression or "").partition(".backward(")[0] if frame else ""
    return "".join(called_on.split()) == "".join(carrier.text.split())


def is_state(carrier: Carrier) -> bool:
    """What a module is given and gives back, not an average that is kept beside it."""
    node = carrier.statement
    plain = not carrier.afterwards and carrier.member is None
    return plain and isinstance(getattr(node, "value", None), ast.Call)


def facts(carrier: Carrier, joint: Joint, seen: Recording) -> Iterator[Fact]:
    inner = f"{carrier.container} of tensors, " if carrier.container else ""
    yield Fact(code(carrier.text), f"{inner}made in an earlier step, with its graph")
    if joint.taken and not carrier.afterwards:
        last = joint.taken[-1]
        other = seen.source(last.file)
        statement = other.statement_at(last.line) if other else None
        text = f"  {first_line(other, statement)}" if other and statement else ""
        yield Fact("used by the next step at", f"{last.file}:{last.line}{text}")
    if joint.backward:
        where = joint.backward[-1]
        after = f", after {counted(joint.step, 'step')}" if joint.step else ", in the first step"
        how = "retained" if joint.retained else "freed"
        yield Fact(f"its graph was {how} by", f"`backward` at {where.file}:{where.line}{after}")


def first_line(source: Source, node: ast.stmt) -> str:
    return source.lines[node.lineno - 1].strip()


def why(carrier: Carrier, joint: Joint) -> str:
    if joint.retained:
        return (
            "A graph needs the weights as they were in its forward pass, and a step writes into"
            " them. `retain_graph=True` keeps every earlier graph, so that each step goes back"
            " through all steps before it."
        )
    return (
        "`backward` frees what a graph kept as it passes through."
        f" {code(carrier.text)} leads from this step's loss back into a graph that is used up."
        + NO_CURE
    )


def fixes(crash: Crash, found: list[Carrier], story: GraphStory) -> Iterator[Fix]:
    carrier = found[0]
    if is_running_loss(crash, carrier):
        edit, loss = running_loss_detached(crash, carrier)
        loss = loss or "loss"
        yield Fix(
            f"Call {code(loss + '.backward()')} on the loss of the step alone, and add its value"
            f" without the graph to {code(carrier.text)}: {code(loss + '.detach()')}.",
            edit,
            GradientsStay(changes_the_past=True, together=1),
            "" if edit else "which loss is the step's own could not be read from the line",
        )
        return
    changes = [detached(one, story) for one in found]
    retaining = without_retaining(crash, carrier.source)
    edits = [edit for edit, _ in changes if edit is not None]
    whole = len(edits) == len(changes) and len({edit.file for edit in edits}) == 1
    texts = spoken([code(text) for _, text in changes])
    yield Fix(
        f"Keep the value without its graph: {texts}{TRUNCATED if is_state(carrier) else ''}.",
        reduce(both, [*edits, *retaining]) if whole else None,
        GradientsStay(),
        "" if whole else "where it belongs could not be read from your source",
    )


@RULE.on(Script)
def state_in_the_source_has_its_graph(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.GraphFreed):
        if one.how != "carried":
            continue
        node, name = wording.carried_value(source, one)
        carried = code(name) if name else wording.text_of(source, node)
        yield RULE.finding(
            wording.place_of(source, node),
            f"{carried} is carried from one step to the next with the graph of the previous step,"
            " which that step's `backward` has freed; it must be detached.",
            facts=(Fact("`backward` is called at", wording.line_at(source, one.node)),),
            why="`backward` frees what a graph kept as it passes through.",
            fixes=(
                Fix(
                    "Detach it before the next step uses it: `.detach()`, of a tuple each part.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
