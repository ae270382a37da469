"""Predictions and targets of a binary or numeric loss differ by an axis of size 1.

## What happens
A model with one output returns [N, 1], and the targets are [N]. Binary cross entropy refuses that:
`Target size (torch.Size([8])) must be the same as input size (torch.Size([8, 1]))`. `MSELoss`,
`L1Loss` and `HuberLoss` only warn and broadcast: every prediction is compared with every target, N
× N pairs instead of N.

## Why it matters
The broadcast loss is a number that falls, and what it teaches is the mean of the targets: a model
trained so predicts the same for every row, and nothing is raised.

## What to do
Give both the same shape: `.squeeze(-1)` on the predictions, or `.unsqueeze(-1)` on the targets.

## How it is recognised
By the shapes that the loss was given: equal but for one axis of size 1, at the call that failed, or
at the last one that was looked at.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace
from math import prod

from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Fact, Finding, Fix, Place, Severity
from surefit.doctor.observations import LossCall, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.symptoms import Symptom
from surefit.doctor.words import code, counted, times
from surefit.laws.broadcast_sides import Sides, broadcast, sides_of
from surefit.laws.case import NOT_FOUND, Case
from surefit.laws.contracts.losses import BINARY, OF_DISTANCE, TargetShape
from surefit.remedies.append import Append
from surefit.remedies.change import Change
from surefit.source.edits import appended, both
from surefit.source.patches import Edit
from surefit.source.reading import Source, called

DECIDES = "whether the two shapes are equal but for one axis of size 1"
SYMPTOMS = (
    Symptom(r"Target size \(.*\) must be the same as input size", DECIDES),
    Symptom("Using a target size .* that is different to the input size", DECIDES),
)
RULE = Rule("SF407", "size-of-predictions", Severity.ERROR, __doc__, symptoms=SYMPTOMS)

PROOF_STEPS = 8
LAYERS = {
    "mse_loss": "MSELoss",
    "l1_loss": "L1Loss",
    "smooth_l1_loss": "SmoothL1Loss",
    "huber_loss": "HuberLoss",
}


@RULE.on(TargetShape)
def sizes_differ_by_an_axis(broken: TargetShape, case: Case) -> Finding | None:
    if broken.loss not in BINARY and not case.read:
        return None  # losses of distance broadcast, and what failed is something else
    predictions, target = broken.predictions, broken.target
    sides = sides_of((predictions.name, predictions.shape), (target.name, target.shape))
    if sides is None:
        return None
    side = predictions if sides.of_predictions else target
    words = f"Remove the axis: {code(side.name[1:-1] + sides.squeeze)}."
    must = replace(broken.gets(), target_shape=sides.shapes[1], shape=sides.shapes[1])
    squeeze = Append(at=side.use, suffix=sides.squeeze, words=words, must=must)
    floats = target.dtype.startswith("float")
    return case.finding(
        broken.use.place,
        headline(sides, broken.called),
        facts=(predictions.fact(), target.fact()),
        why="There is one prediction for each target; only an axis of size 1 is between them.",
        remedies=(squeeze if floats else with_floats(squeeze, broken, sides, case),),
    )


def with_floats(squeeze: Append, broken: TargetShape, sides: Sides, case: Case) -> Change:
    """Integer targets need a cast as well."""
    edit = squeeze.edit(case)
    node, source = case.node(broken.target.use), case.source(broken.use.place)
    if edit is not None and node is not None and source is not None:
        suffix = ".float()" if sides.of_predictions else f"{sides.squeeze}.float()"
        cast = appended(source, node, suffix)
        edit = both(edit, cast) if sides.of_predictions else cast
    words = f"{squeeze.words} And give the targets as floats: `.float()`."
    return Change(to=edit, words=words, must=squeeze.must)


def headline(sides: Sides, name: str) -> str:
    return f"{sides.in_words}: {name} takes both in one shape, without the axis of size 1."


@RULE.on(Steps)
def every_pair_is_compared(steps: Steps, recording: Recording) -> Iterator[Finding]:
    """Nothing is raised where a loss broadcasts."""
    if steps.process.rank not in (None, 0):
        return
    for call in steps.loss_calls:
        if call.name not in OF_DISTANCE or not call.training or call.place is None:
            continue
        source = recording.source(call.place)
        node = call_at(source, call) if source else None
        names = [name_of(source, node, at) for at in (0, 1)]
        sides = sides_of((names[0], call.shape), (names[1], call.target_shape))
        pairs = broadcast(call.shape, call.target_shape)
        if sides is not None and pairs is not None and pairs != sides.shapes[0]:
            yield compared(call, call.place, sides, pairs, squeezed(source, node, sides))
            return


def compared(
    call: LossCall, place: Place, sides: Sides, pairs: tuple[int, ...], edit: Edit | None
) -> Finding:
    words = f"Remove the axis: {code(sides.squeeze)} on {sides.names[0]}."
    must = LossGets(
        call.name,
        Place(place.file, place.line),
        sides.shapes[1],
        shape=sides.shapes[1],
        changes_the_past=True,
        steps=PROOF_STEPS,
        any_size=True,
    )
    count = f"{times(pairs)} = {counted(prod(pairs), 'pair')}"
    return RULE.finding(
        place,
        headline(sides, f"`{call.name}`"),
        facts=(
            Fact("compared", f"{count}, instead of {counted(prod(sides.shapes[1]), 'pair')}"),
            Fact("calls", f"{call.calls:,}, none of which raised anything"),
        ),
        why="The shapes are broadcast: each prediction is drawn to every target of the batch, and"
        " the model learns their mean.",
        fixes=(Fix(words, edit, must) if edit else Fix(words, why_not_tried=NOT_FOUND),),
    )


ARGUMENTS = ("input", "target")
DEFAULTS = ("the predictions", "the targets")


def name_of(source: Source | None, call: ast.Call | None, position: int) -> str:
    node = source.argument(call, ARGUMENTS[position], position) if source and call else None
    return code(source.segment(node)) if source and node is not None else DEFAULTS[position]


def squeezed(source: Source | None, call: ast.Call | None, sides: Sides) -> Edit | None:
    position = 0 if sides.of_predictions else 1
    node = source.argument(call, ARGUMENTS[position], position) if source and call else None
    return appended(source, node, sides.squeeze) if source and node is not None else None


def call_at(source: Source, call: LossCall) -> ast.Call | None:
    """The one call on the line that can be the loss: its function, or an object of its class."""
    line = call.place.line if call.place else None
    kind = LAYERS.get(call.name, "")
    calls = [
        node
        for node in (source.calls_in(line) if line else ())
        if called(node) == call.name or is_loss(source, node.func, kind)
    ]
    return calls[0] if len(calls) == 1 else None


def is_loss(source: Source, node: ast.expr, kind: str) -> bool:
    """`criterion`, `self.loss`, or the constructor itself, called at once."""
    if isinstance(node, ast.Call):
        return called(node) == kind
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return any(
        isinstance(statement.value, ast.Call)
        and called(statement.value) == kind
        and any(name in (getattr(t, "attr", ""), getattr(t, "id", "")) for t in statement.targets)
        for statement in source.every(ast.Assign)
    )
