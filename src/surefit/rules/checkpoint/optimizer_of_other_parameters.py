"""An optimizer's state dict was saved with another number of groups or parameters.

## What happens
`optimizer.load_state_dict` matches by position and needs as many groups, with as many parameters in
each, as were saved. Frozen layers, a new head, adapters or groups for weight decay change that.

## Why it matters
The message does not say how many there are on either side, nor which optimizer is the odd one.

## What to do
Make the optimizer over the same parameters in the same groups as when it was saved; or begin with a
fresh optimizer on purpose, which forgets its moments. Each way is tried.

## How it is recognised
An optimizer's own `load_state_dict` raised, and the numbers of groups or of parameters in them are
not those of what it was given.
"""

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import counted, listed
from surefit.laws.case import Case
from surefit.laws.contracts.optimizer_states import StateOfOtherParameters
from surefit.remedies.statements import Remove

SYMPTOM = Symptom(
    r"loaded state dict (has a different number|contains a parameter group)",
    "how many groups and parameters were saved, and how many there are",
)
RULE = Rule("SF906", "optimizer-of-other-parameters", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(StateOfOtherParameters)
def groups_are_others_than_saved(broken: StateOfOtherParameters, case: Case) -> Finding | None:
    state = broken.state
    here, saved = state.numbers, state.saved_numbers
    if saved is None or here == saved or state.saved_order is not None:
        return None
    several = (
        Fact("parameters here", f"{sum(here):,}, in groups of {listed(here)}"),
        Fact("parameters saved", f"{sum(saved):,}, in groups of {listed(saved)}"),
    )
    return case.finding(
        state.made_at or broken.use.place,
        f"`{state.kind}` has {numbers(here)}, and its state was saved with {numbers(saved)}.",
        facts=(
            *(several if len(here) > 1 or len(saved) > 1 else ()),
            Fact("loaded at", str(broken.use.place)),
        ),
        why="An optimizer's state is matched by position: every group and parameter has its own.",
        remedies=(
            Fix(
                "Create the optimizer over the parameters that it had when it was saved: frozen"
                " layers, a new head and groups for weight decay change their number.",
                choice=True,
            ),
            Remove(
                at=broken.use,
                words="If other parameters are trained on purpose, leave the optimizer's state out;"
                " its moments begin at zero.",
                choice=True,
            ),
        ),
    )


def numbers(groups: tuple[int, ...]) -> str:
    if len(groups) == 1:
        return counted(groups[0], "parameter")
    return f"{counted(len(groups), 'group')} of {listed(groups)} parameters"
