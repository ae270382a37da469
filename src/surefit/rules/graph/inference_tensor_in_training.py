"""A tensor that was created in inference mode is used in a training step.

## What happens
Tensors created under `torch.inference_mode()` can never take part in a graph, not even after the
block has ended. A layer with trainable parameters must keep its input for `backward`, and says
"Inference tensors cannot be saved for backward".

## Why it matters
The fault appears when a layer becomes trainable that must keep the tensor, far from the block.

## What to do
Create it under `torch.no_grad()` in place of `torch.inference_mode()`: its tensors have no graph
either, and can be used in one. Or `.clone()` it where training takes it up.

## How it is recognised
A call or another operation of the forward pass failed that was given a tensor created in inference
mode, as torch itself marks it, and the source has one block or decorator of that mode.
"""

from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import fact_at
from surefit.doctor.words import code, some
from surefit.laws.case import Case
from surefit.laws.contracts.inference_tensors import InferenceTensorKept, inference_blocks
from surefit.remedies.replace import ReplaceWith

SYMPTOM = Symptom(
    r"Inference tensors cannot be saved for backward",
    "where `torch.inference_mode` creates what the training step uses",
)
RULE = Rule("SF632", "inference-tensor-in-training", Severity.ERROR, __doc__, symptoms=(SYMPTOM,))


@RULE.on(InferenceTensorKept)
def layer_cannot_keep_its_input(broken: InferenceTensorKept, case: Case) -> Finding | None:
    blocks = [broken.birth] if broken.birth else list(inference_blocks(case))
    if len(blocks) != 1:
        return None
    block = blocks[0]
    return case.finding(
        block.place,
        f"{code(block.text)} creates tensors that no training step can use, and {broken.layer}"
        " must keep one of them for `backward`.",
        facts=(
            *((Fact("created in inference mode", some(broken.names)),) if broken.names else ()),
            *fact_at("used at", broken.use),
        ),
        why="Tensors of inference mode do not count how often they are written to, without which"
        " `backward` cannot trust what a layer kept. Those of `torch.no_grad()` do.",
        remedies=(
            ReplaceWith(
                at=block,
                text=f"{block.text.partition('.inference_mode')[0]}.no_grad()",
                words="Use `torch.no_grad()` here: no graph is recorded either, and its tensors can"
                " be trained on.",
                must=GradientsStay(),
            )
            if ".inference_mode" in block.text
            else None,
        ),
    )
