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
`backward` was called on a tensor without a graph. A second run finds the operation at which the
graph of a trainable parameter was lost, and that graphs were not being recorded there; the source
around the lines that led to it says what had switched them off.

In a script that is only read: a trainable layer is called under a decorator, a block or a switch
that is certain to be off, and `backward` is called on what is computed from it.
"""

from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code
from surefit.evidence.graph_stories import Cut, story_of_lost_graph
from surefit.evidence.switched_off import Switch, switch_of
from surefit.interpreter import violations, wording

RULE = Rule(
    "SF625",
    "training-without-recording",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"element 0 of tensors does not require grad",
            "whether the forward pass ran under `no_grad`, `inference_mode` or"
            " `set_grad_enabled(False)`",
        ),
    ),
)


@RULE.on(Crash)
def loss_was_computed_with_gradients_off(crash: Crash, seen: Recording) -> Iterator[Finding]:
    story = story_of_lost_graph(seen, crash) if is_cause(crash, seen) else None
    cuts = story.lost.cuts if story and story.lost else ()
    if not cuts or any(cut.enabled or cut.checkpointed for cut in cuts):
        return
    switch = switch_of(seen, cuts[0].stack)
    if switch is None:
        return
    yield RULE.finding(
        Place(switch.source.file, switch.node.lineno),
        f"The loss was computed with gradients switched off by {code(switch.text)}, so that it has"
        " no graph to go back through.",
        facts=tuple(facts(cuts[0])),
        why="Operations record no graph there, whatever the parameters want."
        " `loss.requires_grad_(True)` would silence the error and train nothing.",
        fixes=tuple(fixes(switch)),
        python_said=crash.said,
        about=crash.id,
    )


def facts(cut: Cut) -> Iterator[Fact]:
    if cut.stack:
        yield Fact("a trainable parameter is used at", f"{cut.stack[-1].place}, by `{cut.name}`")
    yield Fact("gradients there", "off: inference mode" if cut.inference else "off: `no_grad`")


def fixes(switch: Switch) -> Iterator[Fix]:
    edit = switch.taken_out()
    yield Fix(
        switch.advice,
        edit,
        GradientsStay(),
        "" if edit else "which part is meant for evaluation only you know",
    )


@RULE.on(Script)
def gradients_are_off_in_the_source(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.BackwardWithoutGraph):
        cut = one.tensor.cut
        if cut is None or cut.how != "recording":
            continue
        yield RULE.finding(
            wording.place_of(source, cut.node),
            f"The loss is computed with gradients switched off by"
            f" {wording.text_of(source, cut.node)},"
            " so that"
            " it has no graph to go back through.",
            facts=(Fact("`backward` is called at", wording.line_at(source, one.node)),),
            why="Operations record no graph there, whatever the parameters want.",
            fixes=(
                Fix(
                    "Switch gradients off where the model is evaluated, not where it is trained.",
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
