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
All that the graph had kept is gone. In a second run the part that both passes share was computed in
this very step. Whether an optimizer that took a step between the two passes holds parameters of
that part decides which loss is detached.
"""

from collections.abc import Iterator

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.graph_stories import Joint, When
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, counted
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.graphs import GraphUsedUp
from surefit.laws.training.rounds import when_computed
from surefit.remedies.append import Append
from surefit.remedies.change import Change
from surefit.remedies.one_backward import one_backward, reading_of
from surefit.remedies.statements import Remove

SYMPTOM = Symptom(
    r"Trying to backward through the graph a second time",
    "whether two backward passes of one step share what they go back through",
)
RULE = Rule("SF623", "graph-used-by-two-losses", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(GraphUsedUp)
def second_pass_met_what_the_first_has_freed(broken: GraphUsedUp, case: Case) -> Finding | None:
    story = broken.story
    for joint in story.joints if story.here else ():
        now = when_computed(case.recording, story, joint) is When.IN_THIS_ROUND
        if not now or not joint.freed or not joint.backward:
            continue
        use = use_to_detach(case, joint)
        here, there = story.here[-1].place, joint.backward[-1].place
        headline = f"The passes at {there} and here share a graph, and the first has freed it."
        if not joint.taken:
            headline = f"`backward` goes through one loss a second time; {there} was first."
        elif use is not None:
            headline = (
                f"{code(use.text)} enters this loss without `detach()`, with its graph, and the"
                f" pass at {there if joint.stepped else here} goes back through the same graph."
            )
        return case.finding(
            use.place if use else here,
            headline,
            facts=facts(joint),
            why="`backward` frees what a graph kept as it passes through; the second pass finds"
            " nothing there.",
            remedies=remedies(broken, case, joint, use),
        )
    return None


def facts(joint: Joint) -> Iterator[Fact]:
    yield Fact("freed by", f"`backward` at {joint.backward[-1].place}")
    if joint.made:
        name = code(joint.names[0].base) if joint.names else "what is"
        yield Fact("both go through", f"{name} computed at {joint.made[-1].place}")
    if joint.steps_since:
        steps = counted(joint.steps_since, "optimizer step")
        whose = f"{joint.stepped or 'none'} of the {joint.leaves} parameters there"
        yield Fact("between the two", f"{steps}, of one that holds {whose}")


def use_to_detach(case: Case, joint: Joint) -> Expression | None:
    """Between the passes an optimizer took a step. If it trains what is shared, the later loss has
    no business there; if it does not, the earlier one has none."""
    partly = 0 < joint.stepped < joint.held
    if partly or not joint.steps_since or not joint.taken or not joint.names:
        return None
    name = joint.names[0].base
    if joint.stepped:
        return reading_of(case, joint.taken, name)
    uses = [reading_of(case, stack, name) for stack in joint.entered]
    return uses[0] if uses and None not in uses else None


def remedies(
    broken: GraphUsedUp, case: Case, joint: Joint, use: Expression | None
) -> Iterator[Remedy | Fix]:
    if use is not None:
        which = "second" if joint.stepped else "first"
        words = f"The {which} loss trains nothing that {code(use.text)} is computed by: give it"
        yield detach(use, words)
    elif not joint.taken:
        words = "Call `backward` once for each loss; take this second call out."
        yield Remove(at=broken.use, words=words, must=GradientsStay())
    elif joint.steps_since:
        yield Fix(
            "Compute what is shared again for the second loss, after the step, and give the first"
            " one `.detach()` of what its optimizer does not train.",
            choice=True,
        )
    else:
        words = "If both losses train the shared part, call `backward` once, on their sum."
        edit = one_backward(case, joint.backward, broken.story.here)
        must = GradientsStay(changes_the_past=True, together=2)
        once = Change(to=edit, words=words, must=must, choice=True)
        yield once if edit else Fix(words, choice=True)
        words = "If one of them should not train it, compute it from"
        read = reading_of(case, joint.taken, joint.names[0].base) if joint.names else None
        other = Fix(f"{words} `.detach()` of what is shared.", choice=True)
        yield detach(read, words, choice=True) if read is not None else other


def detach(at: Expression, words: str, *, choice: bool = False) -> Remedy:
    text, must = f"{words} {code(at.text + '.detach()')}.", GradientsStay()
    return Append(at=at, suffix=".detach()", words=text, must=must, choice=choice, alike=False)
