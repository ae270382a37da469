"""`torch.load` reads tensors alone, and the file holds objects of other classes.

## What happens
Since torch 2.6 `torch.load` has `weights_only=True`: it creates tensors, numbers, strings and their
containers, and refuses every other class. A whole model, an object with settings or an array that
was saved along needs the unpickler, which runs whatever code the file names.

## Why it matters
`weights_only=False` is the quick way out, and the dangerous one: a checkpoint from elsewhere can do
anything with your account.

## What to do
Save `model.state_dict()` and plain values, and load them into a model that your code creates. For a
file that you wrote yourself, allow its classes by name (`torch.serialization.safe_globals`), or
pass `weights_only=False`. surefit unpickles nothing, so neither is tried.

## How it is recognised
`torch.load` raised an unpickling error while its `weights_only` was true.
"""

from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.laws.case import Case
from surefit.laws.contracts.unpickling import UnpicklingRefused

SYMPTOM = Symptom(r"Weights only load failed", "who wrote the file, and whether you trust them")
RULE = Rule("SF908", "checkpoint-needs-unpickling", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(UnpicklingRefused)
def file_holds_more_than_tensors(broken: UnpicklingRefused, case: Case) -> Finding:
    facts = {"the file": broken.file, "saved at": broken.saved_at, "class": broken.class_name}
    return case.finding(
        broken.use.place,
        "`torch.load` reads tensors alone, and this file holds objects of other classes.",
        facts=[Fact(name, value) for name, value in facts.items() if value],
        why="Since torch 2.6 `weights_only=True` is the default: other classes would run code.",
        remedies=(
            Fix(
                "Save `model.state_dict()` and plain values instead of whole objects, and load them"
                " into a model that your code creates.",
                why_not_tried="what is in the file was written earlier",
            ),
            Fix(
                "If you wrote the file yourself: `torch.load(..., weights_only=False)`.",
                why_not_tried="unpickling runs code of the file",
                choice=True,
            ),
        ),
    )
