"""Parameters were frozen when the optimizer was created, and are not in it now that they are free.

## What happens
`AdamW(p for p in model.parameters() if p.requires_grad)` takes what is free at that moment. Layers
that are unfrozen later get gradients, but the optimizer was created without them: no step ever
changes their weights.

## Why it matters
The second stage of a training trains the head alone, as the first did. The loss may still fall, and
nothing is raised.

## What to do
Call `optimizer.add_param_group({"params": ...})` after the line that unfreezes them. Or create the
optimizer with all parameters: it skips those without a gradient.

## How it is recognised
A parameter did not require a gradient when the optimizer was created. At later steps it gets fresh
gradients, no optimizer holds it or ever has, and its values do not change. A line of the script
that runs after the optimizer is created sets `requires_grad`. Embeddings alone are not reported:
they can be set free so that checkpointed layers have a gradient.
"""

from collections.abc import Iterator

from surefit.doctor.conditions.parameters import Moves
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.measures.set_free import FreedParameter, SetFree
from surefit.doctor.observations import OptimizerSeen, ParameterSeen, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import counted, some
from surefit.laws.creation_order import Outside, stands_still
from surefit.laws.made_names import name_at
from surefit.laws.parameter_groups import smallest_groups
from surefit.laws.set_free import Freeing, added_to, all_from_the_start, freed_after

RULE = Rule("SF617", "unfrozen-outside-the-optimizer", Severity.ERROR, __doc__)

MORE_STEPS = 20
"""That a proof takes beyond the step at which the parameters were seen to be free."""


@RULE.on(Steps)
def freed_parameters_never_move(steps: Steps, recording: Recording) -> Iterator[Finding]:
    if steps.process.rank not in (None, 0):
        return
    freed = {
        known.serial: known
        for measure in recording.all(SetFree)
        if measure.process.pid == steps.process.pid
        for known in measure.freed
    }
    outside = [known for known in steps.outside if known.serial in freed and is_meant(known, steps)]
    if not outside or all("Embedding" in known.layer for known in outside):
        return
    last = max((freed[known.serial] for known in outside), key=lambda known: known.by)
    for optimizer in steps.optimizers:
        if optimizer.serial == last.optimizer and optimizer.steps:
            yield from created_while_frozen(outside, steps, optimizer, last, recording)


def is_meant(known: ParameterSeen, steps: Steps) -> bool:
    """It is a part of a model that learns, not of one that only judges."""
    evaluated = any(
        root.serial == known.root and not root.held and not root.training for root in steps.roots
    )
    return stands_still(known) and known.registered and not evaluated


def created_while_frozen(
    outside: Outside,
    steps: Steps,
    optimizer: OptimizerSeen,
    last: FreedParameter,
    recording: Recording,
) -> Iterator[Finding]:
    at = optimizer.made_at
    source = recording.source(at)
    created = source.statement_at(at.line) if source and at and at.line else None
    freeing = freed_after(source, created) if source and created else None
    if source is None or created is None or freeing is None:
        return
    name = name_at(source, at) or ""
    names = [known.name for known in outside]
    every = [known.name for known in steps.parameters]
    these = some(smallest_groups(names, [*names, *every]))
    wanted = min(steps.steps, max(2 * last.by, last.by + MORE_STEPS))
    must = Moves(tuple(names), steps=wanted)
    added = added_to(freeing, created, name, own_part(freeing, names, every)) if name else None
    words = (
        f"Give them to the optimizer when they are free: `{name or 'optimizer'}.add_param_group`."
    )
    fixes = [Fix(words, added, must) if added else Fix(words, choice=True)]
    whole = all_from_the_start(source, created)
    if whole is not None:
        words = "Create the optimizer with all parameters: it skips those without a gradient."
        fixes.append(Fix(words, whole, must))
    yield RULE.finding(
        freeing.place,
        f"`{name or optimizer.kind}` was created with {these} still frozen: now"
        f" {counted(len(outside), 'unfrozen tensor')} get gradients and are not in the optimizer.",
        facts=(
            Fact(f"`{name or optimizer.kind}`", f"{optimizer.kind}, created at {at}"),
            Fact("free", f"with gradients by step {last.by:,}"),
            Fact("in the optimizer", counted(len(every), "other tensor")),
        ),
        why="An optimizer holds the parameters that it was given when it was created. To set"
        " `requires_grad` later does not add any.",
        fixes=tuple(fixes if added or whole is None else fixes[::-1]),
    )


def own_part(freeing: Freeing, names: list[str], held: list[str]) -> str:
    """`model.backbone`, if that is what was set free and the optimizer holds nothing of it."""
    part = freeing.part
    prefix = part.partition(".")[2] + "."
    inside = all(name.startswith(prefix) for name in names)
    mixed = any(name.startswith(prefix) for name in held)
    return part if len(prefix) > 1 and inside and not mixed else ""
