"""A parameter, or another leaf that requires grad, was written to in place while recording.

## What happens
A leaf is where gradients end. `weight.fill_(1.0)`, `w -= rate * w.grad` or `weight[0] = 0` outside
of `torch.no_grad()` would have to be recorded as an operation on it, and it would be a leaf no
longer: "a leaf Variable that requires grad is being used in an in-place operation".

## Why it matters
`w = w - rate * w.grad` raises nothing and is worse: `w` is then a new tensor that the optimizer
does not know. `.data` hides the writing from torch, also where it makes a gradient wrong.

## What to do
Initialise and update under `with torch.no_grad():`. A forward pass that needs a changed copy
creates one: `x = x + y`.

## How it is recognised
The failing statement writes into a tensor that is a leaf and requires grad, by what torch itself
says of it, and no `torch.no_grad()` is around the lines that led to it.
"""

from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code
from surefit.laws.case import Case
from surefit.laws.contracts.leaves import LeafWritten
from surefit.remedies.under_no_grad import UnderNoGrad

SYMPTOM = Symptom(
    r"a (view of a )?leaf Variable that requires grad is being used in an in-place",
    "which parameter the line writes to, and whether it stands under `torch.no_grad()`",
)
RULE = Rule("SF630", "leaf-changed-in-place", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(LeafWritten)
def leaf_was_written_to_while_recording(broken: LeafWritten, case: Case) -> Finding:
    leaf, place = broken.leaf, broken.use.place
    described = f"{leaf.value.kind} {leaf.shape_words}, requires grad"
    must = ValuesAt(
        Place(place.file, place.line), (Wanted(leaf.value.text, requires_grad=True),), after=True
    )
    return case.finding(
        place,
        f"{code(broken.use.text)} writes into {leaf.name}, a leaf that requires grad, while"
        " operations are being recorded.",
        facts=(Fact(leaf.name, described),),
        why="Gradients end at a leaf; recorded as the result of an operation, it would be one no"
        " longer. Under `torch.no_grad()` it is only written to.",
        remedies=(
            UnderNoGrad(
                at=broken.use, words="Write to it under `with torch.no_grad():`.", must=must
            ),
        ),
    )
