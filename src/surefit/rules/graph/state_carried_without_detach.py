"""A state is carried from one step to the next together with the graph of the earlier step.

## What happens
A hidden state, a running average or a running loss is kept for the next batch, with the graph of
the batch that it was computed from. `backward` has freed what that graph kept; the loss of the next
batch leads back into it and fails: "Trying to backward through the graph a second time".

## Why it matters
The advice in the message, `retain_graph=True`, only moves the fault: every step then goes back
through all steps before it, and the optimizer has written into the weights that their graphs need.

## What to do
Keep the value and let the graph go: `state = state.detach()`, for `(h, c)` each of the two. This is
truncated backpropagation through time (BPTT). For a running loss call `backward` on the loss of the
batch, and add `loss.detach()` or `loss.item()` to the sum.

## How it is recognised
All that the graph had kept is gone, or a step has written to it. A second run marks what each
backward pass went through, and finds the tensor by which the new graph enters a marked one; the
name that held it between the two passes and the statement that gives it this name say what is
carried.
"""

import ast
from collections.abc import Iterator, Sequence
from functools import reduce

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.graph_stories import Joint
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.graphs import BackwardFailed, GraphUsedUp, ValueOverwritten
from surefit.laws.training.carriers import Carrier, carriers_of
from surefit.laws.training.rounds import standing
from surefit.remedies.change import Change
from surefit.remedies.detach import detached, running_loss_detached, without_retaining
from surefit.source.edits import both

SYMPTOMS = (
    Symptom(
        r"Trying to backward through the graph a second time",
        "whether the loss of a batch depends on a tensor of an earlier batch",
    ),
    Symptom(
        r"modified by an inplace operation",
        "whether `retain_graph=True` keeps the graph of an earlier batch, which a step of the"
        " optimizer has made useless",
    ),
)
RULE = Rule("SF621", "state-carried-without-detach", Severity.ERROR, __doc__, symptoms=SYMPTOMS)

WHY = (
    "`backward` frees what a graph kept as it passes through. {} leads from this step's loss back"
    " into a graph that is used up. `retain_graph=True` is no cure: each step would go back through"
    " all steps before it, and the optimizer has changed the weights that their graphs need."
)
WHY_RETAINED = (
    "A graph needs the weights as they were in its forward pass, and a step writes into them."
    " `retain_graph=True` keeps every earlier graph, so that each step goes back through all steps"
    " before it."
)
TRUNCATED = "; that is truncated backpropagation through time (BPTT)"


@RULE.on(GraphUsedUp)
@RULE.on(ValueOverwritten)
def state_of_an_earlier_step_has_its_graph(broken: BackwardFailed, case: Case) -> Finding | None:
    written = bool(broken.story.changed) and not broken.story.by_an_optimizer
    carried = carriers_of(case.recording, broken.story)
    if written or not carried:
        return None
    (carrier, joint), carriers = carried[0], [other for other, _ in carried]
    statement = carrier.statement
    return case.finding(
        Place(carrier.source.file, statement.lineno, statement.end_lineno),
        headline(broken, carriers, joint),
        facts=facts(case, carrier, joint),
        why=WHY_RETAINED if joint.retained else WHY.format(code(carrier.text)),
        remedies=(remedy(broken, case, carriers),),
    )


def is_running_loss(broken: BackwardFailed, carrier: Carrier) -> bool:
    """The very name that `backward` was called on is what is carried."""
    return "".join(broken.loss.value.text.split()) == "".join(carrier.text.split())


def headline(broken: BackwardFailed, carriers: Sequence[Carrier], joint: Joint) -> str:
    name = spoken([code(carrier.text) for carrier in carriers])
    if is_running_loss(broken, carriers[0]):
        return f"{name} is a sum over steps, with the graphs of earlier steps, which were freed."
    verb, must = ("is", "it must") if len(carriers) == 1 else ("are", "they must")
    freed = "which that step's `backward` has freed"
    changed = "and the optimizer has changed the weights that this graph needs"
    return (
        f"{name} {verb} carried from one step to the next with the graph of the previous step,"
        f" {changed if joint.retained else freed}; {must} be detached."
    )


def facts(case: Case, carrier: Carrier, joint: Joint) -> Iterator[Fact]:
    inner = f"{carrier.container} of tensors, " if carrier.container else ""
    yield Fact(code(carrier.text), f"{inner}computed in an earlier step, with its graph")
    for here in standing(case.recording, joint.taken[-1:] if not carrier.afterwards else ()):
        text = here.source.lines[here.statement.lineno - 1].strip()
        yield Fact("used by the next step at", f"{here.line.place}  {text}")
    for line in joint.backward[-1:]:
        after = f", after {counted(joint.step, 'step')}" if joint.step else ", in the first step"
        how = "retained" if joint.retained else "freed"
        yield Fact(f"its graph was {how} by", f"`backward` at {line.place}{after}")


def remedy(broken: BackwardFailed, case: Case, carriers: Sequence[Carrier]) -> Remedy | Fix:
    carrier = carriers[0]
    if case.read:
        return Fix(
            "Detach it before the next step: `.detach()`, of a tuple each part.", choice=True
        )
    if is_running_loss(broken, carrier):
        edit, loss = running_loss_detached(case, broken.use, carrier)
        words = (
            f"Call {code(loss + '.backward()')} on the loss of the step alone, and add its value"
            f" without the graph to {code(carrier.text)}: {code(loss + '.detach()')}."
        )
        must = GradientsStay(changes_the_past=True, together=1)
        return Change(to=edit, words=words, must=must) if edit else Fix(words, choice=True)
    changes = [detached(other, broken.story) for other in carriers]
    edits = [edit for edit, _ in changes if edit is not None]
    texts = spoken([code(text) for _, text in changes])
    plain = not carrier.afterwards and carrier.member is None
    is_state = plain and isinstance(getattr(carrier.statement, "value", None), ast.Call)
    words = f"Keep the value without its graph: {texts}{TRUNCATED if is_state else ''}."
    if len(edits) < len(changes) or len({edit.file for edit in edits}) != 1:
        return Fix(words, choice=True)
    edits += without_retaining(case, broken.use, carrier.source)
    return Change(to=reduce(both, edits), words=words, must=GradientsStay())
