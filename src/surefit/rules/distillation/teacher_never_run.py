"""A teacher was loaded and never run in training, and its term of the loss is a plain zero.

## What happens
The divergence from the teacher stands in a branch that no training step enters, and the name that
holds it keeps the zero that it began with: `loss = 0.9 * ce + 0.1 * kd` is `0.9 * ce`. A common
cause is a flag with `action="store_true", default=True`: it is true with the flag and without it.

## Why it matters
Nothing is reported. The log shows a loss that falls, and a term `kd` of 0.0000 that looks like a
student that agrees with its teacher.

## What to do
Remove the condition that keeps the teacher out, or turn it around; define a flag that can be
switched off (`action=argparse.BooleanOptionalAction`).

## How it is recognised
A model that no optimizer holds was in no training step called at a place from which its output can
enter the loss. In the source the loss has a term that is either computed from that call or a plain
zero. What decided it is read from the conditions around the call, with the constants of the file
and the defaults of flags. Silent where the condition was chosen on the command line, or counts
steps (distillation that begins later). A flag that could have been given makes it a warning.
"""

import ast
from collections.abc import Iterator, Sequence

from surefit.doctor.conditions.beside import Alike, IsRun
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import BesideSeen, Ended, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted
from surefit.laws.losses.loss_sources import entering_loss, runs_a_model
from surefit.laws.losses.zero_terms import plain_zeros
from surefit.laws.training.flags import Flag
from surefit.laws.training.gates import flags_in
from surefit.laws.training.idle_teachers import Idle, fixed_flag, idle_in, named, switched_by
from surefit.laws.training.teacher_names import calls_of
from surefit.laws.training.teachers import loss_at, trained_names
from surefit.source.edits import argument_added, replaced
from surefit.source.origins import origin
from surefit.source.reading import Source

RULE = Rule("SF953", "teacher-never-run", Severity.ERROR, __doc__)

FEWEST_STEPS = 2
MEANT_FOR_A_TEACHER = ("kd", "distil", "soft", "kl", "teach", "diverg")
WHY = (
    "A term that stays at the zero it began with adds nothing to the loss and nothing to any"
    " gradient: the student is trained as if there were no teacher."
)


@RULE.on(Steps)
def the_divergence_is_a_plain_zero(steps: Steps, seen: Recording) -> Iterator[Finding]:
    trains = steps.steps >= FEWEST_STEPS and any(root.held for root in steps.roots)
    if not trains or steps.process.rank not in (None, 0):
        return
    command = next((one.command for one in seen.all(Ended)), ())
    for one in steps.beside:
        source = seen.source(one.made_at)
        names = named(one, steps, source) if source and not one.moved else frozenset()
        inside = any(root.nested for root in steps.roots if root.serial == one.serial)
        if source is None or not names or one.learned or inside:
            continue
        idle = idle_in(source, one, names, steps, command)
        if idle is not None:
            yield never_run(idle, one, steps, command)
        elif not (one.training or one.evaluating):
            yield from never_written(source, one, names, steps)


def never_run(idle: Idle, one: BesideSeen, steps: Steps, command: Sequence[str]) -> Finding:
    fixed = fixed_flag(idle)
    at = fixed.call if fixed is not None else idle.gate.test
    chosen = fixed is None and flags_in(idle.source, idle.gate.test)
    return RULE.finding(
        Place(idle.source.file, at.lineno, at.end_lineno),
        f"`{idle.name}` was run in none of {counted(steps.steps, 'step')}:"
        f" {code(idle.term.text)}, its term of the loss, is the 0 of line {idle.term.zero.lineno}.",
        facts=tuple(facts(idle, one, command)),
        why=WHY,
        fixes=(fix(idle, one),),
        severity=Severity.WARNING if chosen else Severity.ERROR,
    )


def facts(idle: Idle, one: BesideSeen, command: Sequence[str]) -> Iterator[Fact]:
    source = idle.source
    elsewhere = one.training + one.evaluating
    run = f"called {counted(elsewhere, 'time')}, elsewhere" if elsewhere else "never called"
    yield Fact(
        code(idle.name),
        f"{one.kind} of {counted(one.parameters, 'weight')}, created at {one.made_at}; {run}",
    )
    call = code(source.segment(idle.call))
    yield Fact("it would be run", f"at line {idle.call.lineno}: {call}")
    yield from why_closed(idle, command)


def why_closed(idle: Idle, command: Sequence[str]) -> Iterator[Fact]:
    source, gate = idle.source, idle.gate
    written = code(source.segment(gate.test))
    is_now = "false" if gate.wanted else "true"
    yield Fact("what decides", f"{written} at line {gate.test.lineno} is {is_now} at every step")
    flags = flags_in(source, gate.test)
    for node, flag in flags:
        yield Fact(code(source.segment(node)), of_flag(flag, command))
    for name in ast.walk(gate.test) if not flags else ():
        made = origin(source, name) if isinstance(name, ast.Name) else None
        if isinstance(name, ast.Name) and isinstance(made, ast.Constant):
            yield Fact(code(name.id), f"{made.value!r}, set at line {made.lineno}")


def of_flag(flag: Flag, command: Sequence[str]) -> str:
    if flag.is_fixed:
        return (
            f"`{flag.option}` is `{flag.action}` with the default {flag.value}: it is {flag.value}"
            " with the flag and without it"
        )
    given = "given" if flag.is_given(command) else "not given"
    return f"`{flag.option}` was {given}; its default, at line {flag.call.lineno}, is {flag.value}"


def fix(idle: Idle, one: BesideSeen) -> Fix:
    must = IsRun(Alike(one.kind, one.parameters))
    flag = fixed_flag(idle)
    source = idle.source
    if flag is not None:
        text = f"Give `{flag.option}` the default {not flag.value}, so that it is a choice."
        return Fix(text, argument_added(source, flag.call, "default", str(not flag.value)), must)
    constant = switched_by(idle)
    if constant is not None:
        text = f"Set it to {not constant.value} where it stands, at line {constant.lineno}."
        return Fix(text, replaced(source, constant, str(not constant.value)), must)
    options = " and ".join(f"`{flag.option}`" for _, flag in flags_in(source, idle.gate.test))
    if options:
        return Fix(f"Give {options} on the command line, or another default.", choice=True)
    line = idle.call.lineno
    text = f"Let the training step reach line {line}, or remove `{idle.name}` and its term."
    return Fix(text, choice=True)


def never_written(
    source: Source, one: BesideSeen, names: frozenset[str], steps: Steps
) -> Iterator[Finding]:
    """No call of it stands anywhere, and a term that is named for it is zero and nothing else."""
    teacher = any("teacher" in name.lower() for name in names)
    if not teacher or any(True for _ in calls_of(source, names)):
        return
    stop = runs_a_model(source, trained_names(steps, source) - names)
    entering = entering_loss(source, loss_at(steps, source), stop)
    for term in plain_zeros(source, entering):
        if not any(word in term.text.lower() for word in MEANT_FOR_A_TEACHER):
            continue
        name = sorted(names, key=len)[0]
        yield RULE.finding(
            Place(source.file, term.zero.lineno, term.zero.end_lineno),
            f"`{name}` was run in none of {counted(steps.steps, 'step')}: {code(term.text)}, a term"
            " of the loss, is this 0 and nothing else.",
            facts=(
                Fact(code(name), f"{one.kind}, created at {one.made_at}; never called"),
                Fact("in the source", f"no line calls `{name}`"),
            ),
            why=WHY,
            fixes=(
                Fix(f"Run `{name}` on the batch and compute the divergence here.", choice=True),
            ),
        )
        return
