"""A setting is written beside another that makes it void.

## What happens
`TrainingArguments(num_train_epochs=3, max_steps=500)`: a number of steps overrides the number of
epochs, silently. The run ends in the first epoch, or goes on for many.

## Why it matters
The script says one thing and does the other. Rows are never trained on, or a schedule is planned
for a run that ends earlier, and the loss is that of a run cut short.

## What to do
Write one of them.

## How it is recognised
Both settings are written in the one call that creates the Trainer's arguments, the documentation of
their class says that one overrides the other, and the epochs that the run took differ by a tenth
from those that were written.
"""

from surefit.doctor.findings import Finding, Severity
from surefit.doctor.rule import Rule
from surefit.laws.case import Case
from surefit.laws.invariants.trainer_requests import SettingOverridden
from surefit.laws.runs import law_holds
from surefit.remedies.arguments import DropArgument

RULE = Rule("SF966", "setting-overridden", Severity.WARNING, __doc__)


@RULE.on(SettingOverridden)
def a_setting_has_no_effect(broken: SettingOverridden, case: Case) -> Finding:
    def without(name: str, words: str) -> DropArgument:
        return DropArgument(
            at=broken.call, name=name, words=words, choice=True, must=law_holds(broken)
        )

    return case.finding(
        broken.use.place,
        broken.said,
        facts=broken.facts,
        why=f"`{broken.by}` overrides `{broken.setting}`, as the documentation says.",
        remedies=(
            without(broken.by, f"Train for the epochs that are written: leave out `{broken.by}`."),
            without(broken.setting, f"Or train for the steps: leave out `{broken.setting}`."),
        ),
    )
