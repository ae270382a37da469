"""An optimizer's state dict was saved with another number of groups or parameters.

## What happens
`optimizer.load_state_dict` goes by position and needs as many groups, with as many parameters in
each, as were saved. Freezing or unfreezing layers, a new head, adapters, or groups for weight decay
between the two runs change these numbers.

## Why it matters
The message does not say how many there are on either side, nor which optimizer is the odd one.

## What to do
Make the optimizer over the same parameters in the same groups as when it was saved; or begin with a
fresh optimizer on purpose, which forgets its moments. Only you can choose.

## How it is recognised
An optimizer's own `load_state_dict` raised, and the numbers of groups or of parameters in them are
not those of what it was given.

In a script that is only read: the state of an optimizer is loaded into another one, and the numbers
of groups or of parameters in them are known from the source and differ.
"""

from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted, listed
from surefit.evidence.optimizer_states import optimizer_in, saved_order
from surefit.interpreter import violations, wording

RULE = Rule(
    "SF906",
    "optimizer-of-other-parameters",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"loaded state dict (has a different number|contains a parameter group)",
            "how many groups and parameters were saved, and how many there are",
        ),
    ),
)

ONLY_YOU = "only you know which parameters are to be trained"


@RULE.on(Crash)
def groups_are_others_than_saved(crash: Crash, seen: Recording) -> Iterator[Finding]:
    state = optimizer_in(crash, seen) if is_cause(crash, seen) else None
    frame = crash.own_frame
    if state is None or state.saved is None or frame is None:
        return
    here = tuple(len(group) for group in state.groups)
    saved = tuple(len(group) for group in state.saved)
    if here == saved or saved_order(state) is not None:
        return
    yield RULE.finding(
        state.made_at or frame.place,
        f"`{state.kind}` has {numbers(here)}, and its state was saved with {numbers(saved)}.",
        facts=tuple(facts(here, saved, str(frame.place))),
        why="An optimizer's state goes by position: every group and parameter must have its place.",
        fixes=(
            Fix(
                "Make the optimizer over the parameters that it had when it was saved: frozen"
                " layers, a new head and groups for weight decay change their number.",
                why_not_tried=ONLY_YOU,
            ),
            Fix(
                "If other parameters are trained on purpose, leave the optimizer's state out; its"
                " moments begin at zero.",
                why_not_tried=ONLY_YOU,
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def numbers(groups: tuple[int, ...]) -> str:
    if len(groups) == 1:
        return counted(groups[0], "parameter")
    return f"{counted(len(groups), 'group')} of {listed(groups)} parameters"


def facts(here: tuple[int, ...], saved: tuple[int, ...], loaded_at: str) -> Iterator[Fact]:
    if len(here) > 1 or len(saved) > 1:
        yield Fact("parameters here", f"{sum(here):,}, in groups of {listed(here)}")
        yield Fact("parameters saved", f"{sum(saved):,}, in groups of {listed(saved)}")
    yield Fact("loaded at", loaded_at)


@RULE.on(Script)
def numbers_in_the_source_differ(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.OptimizerStateMismatch):
        saved, has = [len(group) for group in one.saved], [len(group) for group in one.has]
        if (saved == has) is False:
            yield RULE.finding(
                wording.place_of(source, one.optimizer),
                f"`{one.kind}` has {counted(sum(has), 'parameter')} in"
                f" {counted(len(has), 'group')}, and its"
                f" state was saved with {counted(sum(saved), 'parameter')} in"
                f" {counted(len(saved), 'group')}.",
                facts=(Fact("loaded at", wording.line_at(source, one.node)),),
                why="An optimizer's state goes by position: it knows no names.",
                fixes=(
                    Fix(
                        "Make the optimizer over the parameters that it had when it was saved, or"
                        " begin"
                        " with a new state.",
                        why_not_tried=wording.ONLY_READ,
                    ),
                ),
                severity=Severity.WARNING,
            )
