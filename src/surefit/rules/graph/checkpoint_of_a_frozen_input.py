"""Reentrant checkpointing was given an input that does not require grad, and cut the graph there.

## What happens
`checkpoint(block, x, use_reentrant=True)` asks the *inputs* alone whether anything requires grad.
With a frozen embedding, as under LoRA, `x` does not: the result has no graph, whatever is trainable
in the block, and `backward` says "element 0 of tensors does not require grad".

## Why it matters
Where a trainable head comes later, nothing fails at all, and the adapters are never trained.

## What to do
`use_reentrant=False`: that kind of checkpointing looks at the parameters, too. With transformers:
`gradient_checkpointing_kwargs={"use_reentrant": False}`, or `model.enable_input_require_grads()`.

## How it is recognised
`backward` was called on a tensor without a graph. A second run finds the operation at which a
trainable parameter's graph was lost, and it ran inside reentrant checkpointing.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.graph_stories import Cut, GraphStory
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.graphs import NoGraph
from surefit.laws.training.rounds import standing
from surefit.remedies.arguments import SetArgument
from surefit.remedies.statements import Insert
from surefit.source.reading import Source, called

SYMPTOM = Symptom(
    r"element 0 of tensors does not require grad",
    "whether reentrant activation checkpointing is on, after frozen embeddings",
)
RULE = Rule("SF624", "checkpoint-of-a-frozen-input", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))

CHECKPOINT = ("checkpoint", "checkpoint_sequential")
SETTING = "gradient_checkpointing_kwargs"
NOT_REENTRANT = '{"use_reentrant": False}'


@RULE.on(NoGraph)
def checkpointing_recorded_no_graph(broken: NoGraph, case: Case) -> Finding | None:
    cut = nearest(broken.story)
    call = checkpoint_call(case, cut) if cut else None
    if cut is None or call is None:
        return None
    held, trainable = broken.story.held
    parameters = f"{held} parameters, {trainable} of them trainable"
    return case.finding(
        call.place,
        "Reentrant checkpointing records a graph only if its input requires grad, and this input"
        " comes from frozen layers: the trainable parameters inside were cut off.",
        facts=(
            *(Fact("cut off inside", f"{line.place}, at `{cut.name}`") for line in cut.stack[-1:]),
            *((Fact("the optimizer holds", parameters),) if held else ()),
        ),
        why="The block is run without recording, to save memory; whether it will be run again for"
        " `backward` is decided by its inputs, never by its parameters.",
        remedies=remedies(case, call),
    )


def nearest(story: GraphStory) -> Cut | None:
    """Every graph that was lost on the way to the loss was lost inside checkpointing."""
    cuts = story.lost.cuts if story.lost else ()
    inside = [cut for cut in cuts if cut.checkpointed and not cut.enabled]
    return inside[0] if inside and len(inside) == len(cuts) else None


def checkpoint_call(case: Case, cut: Cut) -> Expression | None:
    """The user's own call of `checkpoint`, or the call that switched it on in a library."""
    for here in standing(case.recording, cut.checkpointed):
        for call in here.source.calls_in(here.line.line):
            if is_checkpoint(here.source, call):
                return case.expression(here.source, call)
    for source, call in case.recording.every(ast.Call):
        if switches_on(source, call):
            return case.expression(source, call)
    return None


def is_checkpoint(source: Source, call: ast.Call) -> bool:
    return source.imported(call.func).rpartition(".")[2] in CHECKPOINT


def switches_on(source: Source, call: ast.Call) -> bool:
    if called(call) == "gradient_checkpointing_enable":
        return True
    argument = source.argument(call, "gradient_checkpointing")
    return isinstance(argument, ast.Constant) and argument.value is True


def remedies(case: Case, call: Expression) -> Iterator[Remedy]:
    source, node = case.source(call.place), case.node(call)
    assert source is not None
    assert isinstance(node, ast.Call)
    own = is_checkpoint(source, node)
    name, value = ("use_reentrant", "False") if own else (SETTING, NOT_REENTRANT)
    yield SetArgument(
        at=call,
        name=name,
        value=value,
        words=f"Use the kind that looks at parameters, too: `{name}={value}`.",
        must=GradientsStay(),
    )
    if own and len(node.args) > 1 and isinstance(node.args[1], ast.Name):
        line = f"{node.args[1].id}.requires_grad_(True)"
        words = f"Or let the input require grad: `{line}`."
        yield Insert(at=call, where="before", text=line, words=words, must=GradientsStay())
