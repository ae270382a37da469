"""Training is resumed from a checkpoint without the optimizer's or the scheduler's state.

## What happens
The weights and the epoch are read from a checkpoint that holds the states of the optimizer and the
scheduler, too, and these are not loaded. The learning rate begins again at its first value, and
momentum and averages are empty.

## Why it matters
After resuming, the loss jumps up, and the result is worse than that of a run without the break. The
more often a job is restarted, the less of its schedule it follows.

## What to do
Load everything that was saved: `optimizer.load_state_dict(...)`, `scheduler.load_state_dict(...)`.

## How it is recognised
`torch.load` gave a dict with the state of an optimizer or a scheduler; the weights were loaded from
it, the state was not, and steps followed. The source goes on from the epoch or step of the
checkpoint: whoever takes weights alone, to fine-tune them, does not read that.
"""

import ast

from surefit.doctor.findings import Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.words import spoken
from surefit.laws.case import Case, Remedy
from surefit.laws.runs import law_holds
from surefit.laws.training.made_names import name_at
from surefit.laws.training.rate_violations import ScheduleStartsOver
from surefit.laws.training.step_calls import LoopCall, calls_named
from surefit.remedies.statements import Insert
from surefit.source.reading import Source, dotted, names_within

RULE = Rule("SF676", "schedule-starts-over", Severity.ERROR, __doc__)


@RULE.on(ScheduleStartsOver)
def state_in_a_checkpoint_is_not_loaded(broken: ScheduleStartsOver, case: Case) -> Finding:
    checkpoint = broken.checkpoint
    source = case.source(broken.use.place)
    keys = spoken(f'`"{key}"`' for key in broken.missing)
    what = [word for word, key in parts(broken) if key in broken.missing]
    loaded = weights_loaded(source, broken) if source else None
    rate = ""
    if checkpoint.rate and checkpoint.rate_after > 1.01 * checkpoint.rate:
        rate = (
            f": the learning rate jumps from {checkpoint.rate:.3g} to {checkpoint.rate_after:.3g}"
        )
    return case.finding(
        loaded.place if loaded else broken.use.place,
        f"Training is resumed, and the state of the {spoken(what)} ({keys} of the checkpoint) is"
        f" not loaded, so that the schedule starts over{rate}.",
        facts=broken.facts,
        why="The checkpoint has it, and only the weights and the progress are taken from it.",
        remedies=(remedy(broken, case, source, loaded),),
    )


def parts(broken: ScheduleStartsOver) -> tuple[tuple[str, str], ...]:
    checkpoint = broken.checkpoint
    return ("optimizer", checkpoint.optimizer_key), ("scheduler", checkpoint.scheduler_key)


def weights_loaded(source: Source, broken: ScheduleStartsOver) -> LoopCall | None:
    """`model.load_state_dict(ckpt["model"])`, of the checkpoint that was read."""
    name = name_at(source, broken.use.place) or ""
    for call in calls_named(source, "load_state_dict"):
        names = set(names_within(call.call))
        if name in names and call.statement.lineno >= (broken.use.place.line or 0):
            return call
    return None


def remedy(
    broken: ScheduleStartsOver, case: Case, source: Source | None, loaded: LoopCall | None
) -> Remedy | Fix:
    words = f"Load the state of the {spoken(word for word, _ in parts(broken))}, too."
    name = name_at(source, broken.use.place)
    owners = [owner_of(source, key) for key in broken.missing] if source else []
    if loaded is None or not all(owners) or not loaded.is_alone:
        return Fix(words)
    lines = [
        f'{owner}.load_state_dict({name}["{key}"])'
        for owner, key in zip(owners, broken.missing, strict=True)
    ]
    return Insert(
        at=loaded.expression(case),
        where="after",
        text="\n".join(lines),
        words=words,
        must=law_holds(broken),
    )


def owner_of(source: Source, key: str) -> str:
    """`optimizer`, where a dict that is saved has `"optimizer": optimizer.state_dict()`."""
    for node in source.every(ast.Dict):
        for name, value in zip(node.keys, node.values, strict=True):
            is_key = isinstance(name, ast.Constant) and name.value == key
            match value:
                case ast.Call(func=ast.Attribute(value=owner, attr="state_dict")) if is_key:
                    return dotted(owner)
    return ""
