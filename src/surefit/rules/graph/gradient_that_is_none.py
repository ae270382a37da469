"""A line of the user's computes with `.grad` of a parameter that has none.

## What happens
`p.grad` is None until a backward pass has reached `p`: for ever where it is frozen or the loss does
not use it, and again after `zero_grad`. A norm, a clipping or an update by hand then fails.

## Why it matters
A parameter that is not frozen and gets no gradient is not trained: often the layer was forgotten in
`forward`, or its result was detached.

## What to do
Skip those that should have none: `if p.grad is None: continue`. Look at the names of the others:
they are created and never used.

## How it is recognised
Part of the failing expression is the `.grad` of something and is None. The parameters of the model
in the frames of the crash are counted: with a gradient, frozen, and trainable but without one.
"""

from collections.abc import Iterator

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, some
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.gradients import GradientIsNone, Gradients
from surefit.remedies.guard import Guard

SYMPTOM = Symptom(
    r"NoneType.*(object has no attribute '(data|norm|detach|clone|abs|pow|mul|add|clamp)"
    r"|unsupported operand)|unsupported operand.*NoneType",
    "whether the None is the `.grad` of a parameter, and of which one",
)
RULE = Rule("SF633", "gradient-that-is-none", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(GradientIsNone)
def line_computes_with_a_missing_gradient(broken: GradientIsNone, case: Case) -> Finding:
    gradients = broken.gradients
    rows = {
        "with a gradient": counted(gradients.present, "parameter") if not case.read else "",
        "trainable, without one": some(gradients.unused) if gradients.unused else "",
        "frozen": some(gradients.frozen) if gradients.frozen else "",
    }
    return case.finding(
        broken.use.place,
        f"{code(broken.text)} is None: {headline(gradients)}.",
        facts=[Fact(name, shown) for name, shown in rows.items() if shown],
        why="`.grad` is set by a backward pass that reaches the parameter, and by nothing else.",
        remedies=remedies(broken),
    )


def headline(gradients: Gradients) -> str:
    root = code(gradients.root)
    if not gradients.root:
        return f"{some(gradients.unused)} gets no gradient, because the loss does not use it"
    if not gradients.present:
        return f"no backward pass has reached any parameter of {root} since they were cleared"
    if gradients.unused:
        return (
            f"{counted(len(gradients.unused), 'trainable parameter')} of {root}"
            f" ({some(gradients.unused)}) got no gradient, because the loss does not use"
            f" {'it' if len(gradients.unused) == 1 else 'them'}"
        )
    return f"{counted(len(gradients.frozen), 'parameter')} of {root} are frozen and have none"


def remedies(broken: GradientIsNone) -> Iterator[Remedy | Fix]:
    gradients = broken.gradients
    if not gradients.root or not gradients.present:
        before = "Call `backward` before this line, and `zero_grad` not between the two."
        skip = "Skip such parameters, or take the layers out of the model."
        yield Fix(before if gradients.root else skip, choice=True)
        return
    without = (*gradients.unused, *gradients.frozen)
    yield Guard(
        at=broken.use,
        over=broken.text.removesuffix(".grad"),
        unless=f"{broken.text} is None",
        words=f"Skip parameters without a gradient: `if {broken.text} is None: continue`. The"
        f" {counted(len(without), 'parameter')} stay as they are.",
        must=GradientsStay(excused=without),
    )
    if gradients.unused:
        text = f"If {some(gradients.unused)} should be trained, compute the loss with it."
        yield Fix(text, choice=True)
