"""Predictions and targets of a binary or numeric loss differ by an axis of size 1.

## What happens
A model with one output gives [N, 1], and the targets are [N]. Binary cross entropy refuses that:
`Target size (torch.Size([8])) must be the same as input size (torch.Size([8, 1]))`. `MSELoss`,
`L1Loss` and `HuberLoss` only warn and broadcast: every prediction is compared with every target, N
× N pairs, of which N are meant.

## Why it matters
The broadcast loss is a number that falls, and what it teaches is the mean of the targets: a model
trained so predicts the same for every row, and nothing is raised.

## What to do
Give both the same shape: `.squeeze(-1)` behind the predictions, or `.unsqueeze(-1)` behind the
targets.

## How it is recognised
By the shapes that the loss was given: equal but for one axis of size 1, at the call that failed, or
at the last one that was looked at.

In a script that is only read: sizes are followed through the file, from the lines that make tensors
through layers and `forward`s. One side has an axis more than the other, its last, of size 1.
"""

import ast
from collections.abc import Iterator
from math import prod

from surefit.doctor.causes import is_cause
from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import Crash, LossCall, Script, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, shape_of, times
from surefit.evidence.broadcast_sides import Sides, broadcast, sides_of
from surefit.evidence.failed_losses import (
    BINARY,
    OF_DISTANCE,
    FailedLoss,
    failed_loss,
    given_name,
    loss_name,
    target_name,
)
from surefit.evidence.label_fixes import at_every_call, must
from surefit.evidence.label_values import LabelValues, label_values
from surefit.interpreter import violations, wording
from surefit.source.edits import appended
from surefit.source.reading import Source, called

DECIDES = "whether the two shapes are equal but for one axis of size 1"
RULE = Rule(
    "SF407",
    "size-of-predictions",
    Severity.ERROR,
    __doc__,
    symptoms=(
        Symptom(r"Target size \(.*\) must be the same as input size", DECIDES),
        Symptom("Using a target size .* that is different to the input size", DECIDES),
    ),
)

NOT_FOUND = "the call of the loss was not found in your source"
PROOF_STEPS = 8
LAYERS = {
    "mse_loss": "MSELoss",
    "l1_loss": "L1Loss",
    "smooth_l1_loss": "SmoothL1Loss",
    "huber_loss": "HuberLoss",
}


@RULE.on(Crash)
def sizes_differ_by_an_axis(crash: Crash, seen: Recording) -> Iterator[Finding]:
    loss = failed_loss(crash, seen) if is_cause(crash, seen) else None
    if loss is None or loss.name not in BINARY or not loss.given.shape or not loss.target.shape:
        return
    given = given_name(crash, loss), loss.given.shape
    sides = sides_of(given, (target_name(crash, loss), loss.target.shape))
    labels = label_values(seen, crash, loss) if sides else None
    if sides is None or labels is None:
        return
    yield RULE.finding(
        loss.own.place,
        headline(sides, loss_name(loss)),
        facts=(
            Fact(given[0], f"{loss.given.dtype} {shape_of(loss.given.shape)}"),
            Fact(target_name(crash, loss), f"{loss.target.dtype} {shape_of(loss.target.shape)}"),
        ),
        why="There is one prediction for each target; only an axis of size 1 stands between them.",
        fixes=(fix(crash, loss, sides, labels, seen),),
        python_said=crash.said,
        about=crash.id,
    )


def headline(sides: Sides, name: str) -> str:
    return f"{sides.in_words}: {name} wants both of one shape, without the axis of size 1."


def fix(crash: Crash, loss: FailedLoss, sides: Sides, labels: LabelValues, seen: Recording) -> Fix:
    said = f"Take the axis away: {code(sides.squeeze)} behind {sides.names[0]}."
    node = loss.given_node if sides.of_predictions else loss.target_node
    edit = at_every_call(loss, node, sides.squeeze) if node is not None else None
    if edit is None:
        return Fix(said, why_not_tried=NOT_FOUND)
    if not (loss.target.dtype or "").startswith("float"):
        text = f"{said} And give the targets as floats: `.float()`."
        return Fix(text, why_not_tried="two changes are needed, and one was looked for")
    gets = LossGets(
        loss.name,
        Place(loss.own.place.file, loss.own.place.line),
        sides.shapes[1],
        (),
        labels.elements,
        labels.total,
        sides.shapes[1],
    )
    return Fix(said, edit, must(crash, seen, gets))


@RULE.on(Steps)
def every_pair_is_compared(steps: Steps, seen: Recording) -> Iterator[Finding]:
    """Nothing is raised where a loss broadcasts."""
    if steps.process.rank not in (None, 0):
        return
    for call in steps.loss_calls:
        if call.name not in OF_DISTANCE or not call.training or call.place is None:
            continue
        arguments = arguments_of(call, seen)
        given = argument_name(arguments, 0, "the predictions"), call.shape
        sides = sides_of(given, (argument_name(arguments, 1, "the targets"), call.target_shape))
        pairs = broadcast(call.shape, call.target_shape)
        if sides is None or pairs is None or pairs == sides.shapes[0]:
            continue
        yield silent_finding(call, call.place, sides, pairs, arguments)
        return


Arguments = tuple[Source, list[ast.expr | None]]


def silent_finding(
    call: LossCall,
    place: Place,
    sides: Sides,
    pairs: tuple[int, ...],
    arguments: Arguments | None,
) -> Finding:
    compared = f"{times(pairs)} = {counted(prod(pairs), 'pair')}"
    return RULE.finding(
        place,
        headline(sides, f"`{call.name}`"),
        facts=(
            Fact("compared", f"{compared}; {counted(prod(sides.shapes[1]), 'pair')} are meant"),
            Fact("calls", f"{call.calls:,}, none of which raised anything"),
        ),
        why="The shapes are broadcast: each prediction is drawn to every target of the batch, and"
        " the model learns their mean.",
        fixes=(silent_fix(call, place, sides, arguments),),
    )


def silent_fix(call: LossCall, place: Place, sides: Sides, arguments: Arguments | None) -> Fix:
    said = f"Take the axis away: {code(sides.squeeze)} behind {sides.names[0]}."
    node = arguments[1][0 if sides.of_predictions else 1] if arguments else None
    if arguments is None or node is None:
        return Fix(said, why_not_tried=NOT_FOUND)
    gets = LossGets(
        call.name,
        Place(place.file, place.line),
        sides.shapes[1],
        shape=sides.shapes[1],
        changes_the_past=True,
        steps=PROOF_STEPS,
        any_size=True,
    )
    return Fix(said, appended(arguments[0], node, sides.squeeze), gets)


def argument_name(arguments: Arguments | None, position: int, otherwise: str) -> str:
    node = arguments[1][position] if arguments else None
    return code(arguments[0].segment(node)) if arguments and node is not None else otherwise


def arguments_of(call: LossCall, seen: Recording) -> Arguments | None:
    source = seen.source(call.place)
    node = call_at(source, call) if source else None
    if source is None or node is None:
        return None
    return source, [source.argument(node, name, at) for at, name in enumerate(("input", "target"))]


def call_at(source: Source, call: LossCall) -> ast.Call | None:
    """The one call on the line that can be the loss: its function, or one with two arguments of a
    name that a layer of this kind was given."""
    line = call.place.line if call.place else None
    if line is None:
        return None
    found = [
        one
        for one in source.calls_in(line)
        if called(one) == call.name or made_a_loss(source, one.func, LAYERS.get(call.name, ""))
    ]
    return found[0] if len(found) == 1 else None


def made_a_loss(source: Source, node: ast.expr, kind: str) -> bool:
    """`criterion`, `self.loss`, or the constructor itself with its call behind it."""
    if not kind:
        return False
    if isinstance(node, ast.Call):
        return called(node) == kind
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return any(
        isinstance(one.value, ast.Call)
        and called(one.value) == kind
        and any(name in (getattr(t, "attr", ""), getattr(t, "id", "")) for t in one.targets)
        for one in source.every(ast.Assign)
    )


@RULE.on(Script)
def one_side_would_have_an_axis_more(script: Script, seen: Recording) -> Iterator[Finding]:
    for source, broken in wording.violations_in(script, seen, violations.TargetAxesMismatch):
        if broken.how != "square":
            continue
        inputs = broken.inputs
        predictions, target = (wording.text_of(source, node) for node in inputs.nodes)
        yield RULE.finding(
            wording.place_of(source, broken.node),
            f"{predictions} is {inputs.predictions.shape} and {target} is {inputs.target.shape}:"
            f" `{inputs.name}` takes both of one shape, without the axis of size 1.",
            facts=wording.loss_facts(source, inputs),
            why="Two shapes that differ so are stretched to a square: each prediction is compared"
            " with every target, or the loss refuses them.",
            fixes=(wording.appended_fix(source, longer_side(inputs), ".squeeze(-1)"),),
            severity=Severity.WARNING,
        )


def longer_side(inputs: violations.LossInputs) -> ast.AST:
    left, right = inputs.tensors
    longer = len(left.shape.sizes) > len(right.shape.sizes)
    return inputs.predictions_node if longer else inputs.target_node
