"""Reentrant checkpointing was given an input that wants no gradient, and cut the graph there.

## What happens
`checkpoint(block, x, use_reentrant=True)` runs the block without recording and asks its *inputs*
alone whether anything wants a gradient. With a frozen embedding, as under LoRA and other adapters,
`x` wants none: the block's result has no graph, however many of its parameters are trainable.
`backward` says "element 0 of tensors does not require grad".

## Why it matters
Where a trainable head comes later, nothing fails at all, and the adapters are never trained.
`loss.requires_grad_(True)` silences the error, and trains nothing.

## What to do
`use_reentrant=False`: that kind of checkpointing looks at the parameters, too. With transformers:
`gradient_checkpointing_kwargs={"use_reentrant": False}`, or `model.enable_input_require_grads()`.

## How it is recognised
`backward` was called on a tensor without a graph. A second run finds the operation at which a
trainable parameter's graph was lost, and it ran inside reentrant checkpointing.

In a script that is only read: `checkpoint` is called with `use_reentrant=True` and an input that
comes from frozen layers alone, and `backward` is called on what is computed from it.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.evidence.graph_stories import Cut, GraphStory, story_of_lost_graph
from surefit.interpreter import violations, wording
from surefit.source.edits import argument_added
from surefit.source.reading import Source, called

RULE = Rule(
    "SF624",
    "checkpoint-of-a-frozen-input",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"element 0 of tensors does not require grad",
            "whether activation checkpointing is on, of the reentrant kind, behind frozen"
            " embeddings",
        ),
    ),
)

CHECKPOINT = ("checkpoint", "checkpoint_sequential")
SETTING = "gradient_checkpointing_kwargs"
NOT_REENTRANT = '{"use_reentrant": False}'


@RULE.on(Crash)
def checkpointing_recorded_no_graph(crash: Crash, seen: Recording) -> Iterator[Finding]:
    story = story_of_lost_graph(seen, crash) if is_cause(crash, seen) else None
    cut = nearest(story) if story else None
    found = chosen(seen, cut) if cut else None
    if story is None or cut is None or found is None:
        return
    source, call = found
    yield RULE.finding(
        Place(source.file, call.lineno, call.end_lineno),
        "Reentrant checkpointing records a graph only if its input wants a gradient, and this input"
        " comes from frozen layers and wants none: the trainable parameters inside were cut off.",
        facts=tuple(facts(story, cut)),
        ruled_out=tuple(not_frozen(story)),
        why="The block is run without recording, to save memory; whether it will be run again for"
        " `backward` is decided by its inputs, never by its parameters.",
        fixes=tuple(fixes(source, call)),
        python_said=crash.said,
        about=crash.id,
    )


def nearest(story: GraphStory) -> Cut | None:
    """Every graph that was lost on the way to the loss was lost inside checkpointing."""
    cuts = story.lost.cuts if story.lost else ()
    inside = [cut for cut in cuts if cut.checkpointed and not cut.enabled]
    return inside[0] if inside and len(inside) == len(cuts) else None


def chosen(seen: Recording, cut: Cut) -> tuple[Source, ast.Call] | None:
    """The user's own call of `checkpoint`, or the one that switched it on in a library."""
    for stood in reversed(cut.checkpointed):
        source = seen.source(stood.file)
        statement = source.statement_at(stood.line) if source else None
        for call in calls_in(statement) if source and statement else ():
            if source and source.imported(call.func).rpartition(".")[2] in CHECKPOINT:
                return source, call
    for script in seen.all(Script):
        source = seen.source(script.file)
        for call in source.every(ast.Call) if source else ():
            if source and switches_on(source, call):
                return source, call
    return None


def calls_in(statement: ast.stmt) -> Iterator[ast.Call]:
    return (node for node in ast.walk(statement) if isinstance(node, ast.Call))


def switches_on(source: Source, call: ast.Call) -> bool:
    if called(call) == "gradient_checkpointing_enable":
        return True
    given = source.argument(call, "gradient_checkpointing")
    return isinstance(given, ast.Constant) and given.value is True


def facts(story: GraphStory, cut: Cut) -> Iterator[Fact]:
    if cut.stack:
        yield Fact("cut off inside", f"{cut.stack[-1].place}, at `{cut.name}`")
    held, wanting = story.optimized if len(story.optimized) == 2 else (0, 0)
    if held:
        yield Fact("the optimizer holds", f"{held} parameters, {wanting} of them trainable")


def not_frozen(story: GraphStory) -> Iterator[Fact]:
    wanting = story.optimized[1] if len(story.optimized) == 2 else 0
    if wanting:
        yield Fact("nothing to train", f"{wanting} parameters of the optimizer want a gradient")


def fixes(source: Source, call: ast.Call) -> Iterator[Fix]:
    own = called(call) in CHECKPOINT or source.imported(call.func).endswith(CHECKPOINT)
    name, value = ("use_reentrant", "False") if own else (SETTING, NOT_REENTRANT)
    yield Fix(
        f"Use the kind that looks at parameters, too: `{name}={value}`.",
        argument_added(source, call, name, value),
        GradientsStay(),
    )
    given = source.segment(call.args[1]) if own and len(call.args) > 1 else "x"
    other = f"{given}.requires_grad_(True)" if own else "model.enable_input_require_grads()"
    yield Fix(
        f"Or let the input want a gradient, behind the embedding: `{other}`.",
        why_not_tried="the fix above needs no other line",
    )


@RULE.on(Script)
def checkpointing_in_the_source_records_no_graph(
    script: Script, seen: Recording
) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.BackwardWithoutGraph):
        cut = one.tensor.cut
        if cut is None or cut.how != "checkpoint":
            continue
        yield RULE.finding(
            wording.place_of(source, cut.node),
            "Reentrant checkpointing records a graph only if its input wants a gradient, and this"
            " input"
            " comes from frozen layers and wants none.",
            facts=(Fact("`backward` is called at", wording.line_at(source, one.node)),),
            why="Whether the block will be run again for `backward` is decided by its inputs, never"
            " by its"
            " parameters.",
            fixes=(
                Fix(
                    "Use the kind that looks at parameters, too: `use_reentrant=False`.",
                    argument_added(source, cut.node, "use_reentrant", "False")
                    if isinstance(cut.node, ast.Call)
                    else None,
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
