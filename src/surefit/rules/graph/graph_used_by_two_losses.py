"""Two backward passes of one step go through the same part of a graph.

## What happens
Two losses share what they were computed from: a trunk with two heads, a generator whose pictures
train the discriminator, too; or one loss is called `backward` on twice. The first pass frees what
the shared part kept, and the second fails: "Trying to backward through the graph a second time".

## Why it matters
`retain_graph=True` silences it and is wrong where one of the two should not reach the shared part:
the discriminator's loss then trains nothing in the generator, but fills its gradients.

## What to do
Where both losses train the shared part, add them and call `backward` once. Where one of them has no
business there, give it `.detach()`: `discriminator(fake.detach())`.

## How it is recognised
All that the graph had kept is gone. A second run marks what each backward pass went through; the
part that both passes share was made in this very step. Which optimizer took a step between the two
passes, and whether it holds parameters behind the shared part, decides which loss must be detached.

In a script that is only read: two calls of `backward` in one round go through the same call of a
layer or a loss, and the first one does not keep the graph.
"""

import ast
from collections.abc import Iterator, Sequence

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted
from surefit.evidence.graph_stories import GraphStory, Joint, Stood, story_of_used_up_graph
from surefit.evidence.repeated_steps import Made, when_made
from surefit.evidence.shared_graphs import Use, call_of, one_backward, use_of
from surefit.interpreter import violations, wording
from surefit.source.edits import appended, removed
from surefit.source.line_edits import shares_lines

RULE = Rule(
    "SF623",
    "graph-used-by-two-losses",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Trying to backward through the graph a second time",
            "whether two backward passes of one step share what they go back through",
        ),
    ),
)


@RULE.on(Crash)
def second_pass_met_what_the_first_has_freed(crash: Crash, seen: Recording) -> Iterator[Finding]:
    story = story_of_used_up_graph(seen, crash) if is_cause(crash, seen) else None
    for joint in story.joints if story else ():
        if story is None or when_made(seen, story, joint) is not Made.IN_THIS_ROUND:
            continue
        if joint.freed and story.here and joint.backward:
            yield finding(crash, seen, story, joint)
            return


def finding(crash: Crash, seen: Recording, story: GraphStory, joint: Joint) -> Finding:
    shared = next((one.base for one in joint.names), "")
    use = use_to_detach(seen, joint, shared)
    here, there = story.here[-1].place, joint.backward[-1].place
    if not joint.taken:
        place, headline = here, f"`backward` goes through one loss a second time; {there} was first"
    elif use is not None:
        place = Place(use.source.file, use.node.lineno)
        headline = (
            f"{code(use.text)} enters this loss without `detach()`, with its graph, and the pass"
            f" at {here if use.first else there} goes back through the same graph"
        )
    else:
        place = here
        headline = f"The passes at {there} and here share a graph, and the first has freed it"
    return RULE.finding(
        place,
        f"{headline}.",
        facts=tuple(facts(joint, shared)),
        why="`backward` frees what a graph kept as it passes through; the second pass finds"
        " nothing there.",
        fixes=tuple(fixes(seen, story, joint, use)),
        python_said=crash.said,
        about=crash.id,
    )


def facts(joint: Joint, shared: str) -> Iterator[Fact]:
    yield Fact("freed by", f"`backward` at {joint.backward[-1].place}")
    if joint.made:
        name = code(shared) if shared else "what is"
        yield Fact("both go through", f"{name} computed at {joint.made[-1].place}")
    if joint.steps_since:
        steps = counted(joint.steps_since, "optimizer step")
        whose = f"{joint.stepped} of" if joint.stepped else "none of"
        yield Fact(
            "between the two",
            f"{steps}, of one that holds {whose} the {joint.leaves} parameters there",
        )


def use_to_detach(seen: Recording, joint: Joint, shared: str) -> Use | None:
    """Between the passes an optimizer took a step. If it trains what is shared, the later loss has
    no business there; if it does not, the earlier one has none."""
    if not joint.steps_since or not joint.taken or not shared:
        return None
    if 0 < joint.stepped < joint.held:
        return None
    if joint.stepped:
        return use_of(seen, joint.taken, shared, first=False)
    found = [use_of(seen, stack, shared, first=True) for stack in joint.entered]
    known = [one for one in found if one is not None]
    return known[0] if known and len(known) == len(found) else None


def fixes(seen: Recording, story: GraphStory, joint: Joint, use: Use | None) -> Iterator[Fix]:
    if use is not None:
        which = "first" if use.first else "second"
        yield Fix(
            f"The {which} loss trains nothing behind {code(use.text)}: give it"
            f" {code(use.text + '.detach()')}.",
            appended(use.source, use.node, ".detach()"),
            GradientsStay(),
        )
        return
    if not joint.taken:
        yield from once_only(seen, story.here)
        return
    if joint.steps_since:
        yield Fix(
            "Compute what is shared anew for the second loss, behind the step, and give the first"
            " one `.detach()` of what its optimizer does not train.",
            why_not_tried="which part belongs to which loss only you know",
        )
        return
    edit = one_backward(seen, joint.backward, story.here)
    yield Fix(
        "If both losses train the shared part, add them and call `backward` once, on the sum.",
        edit,
        GradientsStay(changes_the_past=True, together=2) if edit else None,
        "" if edit else "where the sum belongs only you know",
    )
    yield Fix(
        "If one of them shall not train it, compute that one from `.detach()` of what is shared.",
        why_not_tried="only you know whether both losses are meant for the shared part",
    )


def once_only(seen: Recording, here: Sequence[Stood]) -> Iterator[Fix]:
    call = call_of(seen, here[-1])
    plain = call is not None and not shares_lines(call[0], call[1])
    yield Fix(
        "Call `backward` once for each loss; take this second call out.",
        removed(*call) if call and plain and isinstance(call[1], ast.Expr) else None,
        GradientsStay(),
        "" if plain else "the call is part of a longer statement",
    )


@RULE.on(Script)
def two_passes_in_the_source_share_a_graph(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.GraphFreed):
        if one.how != "twice":
            continue
        shared = one.birth
        used = wording.first_use_before(source, shared, one.freed_by, one.node)
        name = wording.text_of(source, shared)
        yield RULE.finding(
            wording.place_of(source, used or one.freed_by),
            f"{name} is gone through by two backward passes, and the first one frees its graph.",
            facts=(
                Fact("freed by", wording.line_at(source, one.freed_by)),
                Fact("needed again at", wording.line_at(source, one.node)),
            ),
            why="`backward` frees what a graph kept as it passes through.",
            fixes=(
                Fix(
                    "If both losses train it, call `backward` once, on their sum; if only one"
                    " does, give the other one its value: `.detach()`.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
