"""A tensor that was made in inference mode is used in a training step.

## What happens
Under `torch.inference_mode()` tensors are made that can never take part in a graph, not even after
the block has ended. A layer with trainable parameters must keep its input for `backward`, and says
"Inference tensors cannot be saved for backward".

## Why it matters
It works as long as the tensor only meets operations that need not keep it, so that the fault
appears when a layer becomes trainable, far from the block.

## What to do
Make it under `torch.no_grad()` in place of `torch.inference_mode()`: its tensors have no graph
either, and may be used in one. Or `.clone()` it where training takes it up.

## How it is recognised
A call of the forward pass failed that was given a tensor made in inference mode, as torch itself
marks it, and the source has one block or decorator of that mode.

In a script that is only read: what is computed under `torch.inference_mode()` is given, outside of
it, to a trainable layer, in whichever function.
"""

import ast
from collections.abc import Iterator

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.gradients import GradientsStay
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, Question, Script
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, some
from surefit.interpreter import violations, wording
from surefit.source.edits import replaced
from surefit.source.patches import Edit
from surefit.source.reading import Source

RULE = Rule(
    "SF632",
    "inference-tensor-in-training",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(
            r"Inference tensors cannot be saved for backward",
            "where `torch.inference_mode` makes what the training step uses",
        ),
    ),
)

MODE = "inference_mode"


@RULE.on(Crash)
def layer_cannot_keep_its_input(crash: Crash, seen: Recording) -> Iterator[Finding]:
    frame = crash.own_frame
    blocks = list(blocks_of_the_mode(seen))
    if frame is None or not blocks or not is_cause(crash, seen) or crash.in_backward:
        return
    if crash.layer is None or not crash.layer.parameters:
        return
    said = seen.ask(Question("inference-tensors", crash.id)) or {}
    given = said.get("in_the_call")
    if not isinstance(given, list) or not given or len(blocks) != 1:
        return
    source, node = blocks[0]
    known = said.get("names")
    names = [str(one["text"]) for one in known if isinstance(one, dict)] if known else []
    whole = source.segment(node)
    yield RULE.finding(
        Place(source.file, node.lineno, node.end_lineno),
        f"{code(whole)} makes tensors that no training step can use, and"
        f" {code(crash.layer.path or crash.layer.kind)} must keep one of them for `backward`.",
        facts=tuple(facts(names, crash)),
        why="Tensors of inference mode have no counter of writings, without which `backward` cannot"
        " trust what a layer kept. Those of `torch.no_grad()` have one.",
        fixes=(
            Fix(
                "Use `torch.no_grad()` here: no graph is recorded either, and what it makes can be"
                " trained on.",
                with_no_grad(source, node),
                GradientsStay(),
            ),
        ),
        python_said=crash.said,
        about=crash.id,
    )


def facts(names: list[str], crash: Crash) -> Iterator[Fact]:
    if names:
        yield Fact("made in inference mode", some(names))
    if crash.own_frame:
        yield Fact("used at", f"{crash.own_frame.place}  {crash.own_frame.line}")


def blocks_of_the_mode(seen: Recording) -> Iterator[tuple[Source, ast.expr]]:
    """`torch.inference_mode()` in a `with` or as a decorator."""
    for script in seen.all(Script):
        source = seen.source(script.file)
        for node in source.nodes if source else ():
            given: list[ast.expr] = []
            if isinstance(node, ast.With):
                given = [item.context_expr for item in node.items]
            elif isinstance(node, ast.FunctionDef):
                given = node.decorator_list
            for one in given:
                plain = one.func if isinstance(one, ast.Call) else one
                if source and source.imported(plain).endswith(f"torch.{MODE}"):
                    yield source, one


def with_no_grad(source: Source, node: ast.expr) -> Edit | None:
    """The name alone; what the call is given goes with it."""
    func = node.func if isinstance(node, ast.Call) else node
    if not isinstance(func, ast.Attribute):
        return None
    return replaced(source, node, f"{source.segment(func.value)}.no_grad()")


@RULE.on(Script)
def inference_tensor_in_the_source(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, one in wording.violations_in(script, seen, violations.InferenceTensorInTraining):
        mode = one.tensor.inference
        if not isinstance(mode, ast.expr):
            continue
        yield RULE.finding(
            wording.place_of(source, mode),
            f"{wording.text_of(source, mode)} makes tensors that no training step can use, and"
            f" {wording.layer_name(source, one.node, one.layer)} must keep one of them for"
            " `backward`.",
            facts=(Fact("used at", wording.line_at(source, one.node)),),
            fixes=(
                Fix(
                    "Use `torch.no_grad()` here: no graph is recorded either, and what it makes can"
                    " be trained on.",
                    with_no_grad(source, mode),
                    why_not_tried=wording.ONLY_READ,
                ),
            ),
            severity=Severity.WARNING,
        )
