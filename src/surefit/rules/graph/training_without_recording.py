"""The forward pass of a training step ran with gradients switched off.

## What happens
Under `torch.no_grad()`, `torch.inference_mode()` or `set_grad_enabled(False)` operations record no
graph. A loss that was computed so has none, and `backward` says "element 0 of tensors does not
require grad". Often the switch was meant for evaluation: a decorator on a function that training
calls, too, or `set_grad_enabled(False)` that nobody took back.

## Why it matters
`loss.requires_grad_(True)`, the quick way out, makes the error go away and trains nothing.

## What to do
Take the forward pass of the training step out of the block, or the decorator off; where evaluation
uses the same function, put `with torch.no_grad():` around its call there.

## How it is recognised
`backward` was called on a tensor without a graph. A second run finds the operation at which it was
lost while nothing was being recorded; the source around it says what had switched that off.
"""

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code
from surefit.laws.case import Case, Remedy
from surefit.laws.contracts.graphs import NoGraph
from surefit.laws.training.grad_switches import Switch, switch_of
from surefit.remedies.change import Change

SYMPTOM = Symptom(
    r"element 0 of tensors does not require grad",
    "whether the forward pass ran under `no_grad`, `inference_mode` or `set_grad_enabled(False)`",
)
RULE = Rule("SF625", "training-without-recording", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(NoGraph)
def loss_was_computed_with_gradients_off(broken: NoGraph, case: Case) -> Finding | None:
    cuts = broken.story.lost.cuts if broken.story.lost else ()
    if not cuts or any(cut.enabled or cut.checkpointed for cut in cuts):
        return None
    cut, switch = cuts[0], switch_of(case.recording, cuts[0].stack)
    if switch is None:
        return None
    used_at = [f"{line.place}, by `{cut.name}`" for line in cut.stack[-1:]]
    return case.finding(
        Place(switch.source.file, switch.node.lineno),
        f"The loss was computed with gradients switched off by {code(switch.text)}, so that it has"
        " no graph to go back through.",
        facts=(
            *(Fact("a trainable parameter is used at", place) for place in used_at),
            Fact("gradients there", "off: inference mode" if cut.inference else "off: `no_grad`"),
        ),
        why="Operations record no graph there, whatever the parameters require."
        " `loss.requires_grad_(True)` would silence the error and train nothing.",
        remedies=(taken_out(switch),),
    )


def taken_out(switch: Switch) -> Remedy | Fix:
    edit = switch.taken_out()
    if edit is None:
        return Fix(switch.advice, choice=True)
    return Change(to=edit, words=switch.advice, must=GradientsStay())
