"""Predictions and targets of a binary or numeric loss differ by an axis of size 1.

## What happens
A model with one output returns [N, 1], and the targets are [N]. Binary cross entropy refuses that:
`Target size (torch.Size([8])) must be the same as input size (torch.Size([8, 1]))`. `MSELoss`,
`L1Loss` and `HuberLoss` only warn and compare every prediction with every target.

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
from math import prod

from surefit.doctor.conditions.loss_inputs import LossGets
from surefit.doctor.findings import Fact, Finding, Place, Severity
from surefit.doctor.observations import LossCall, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule, Unanswered
from surefit.doctor.symptoms import Symptom
from surefit.doctor.violations import Expression, Operand
from surefit.doctor.words import code, counted, times
from surefit.laws.case import Case
from surefit.laws.contracts.losses import BINARY, OF_DISTANCE, TargetShape
from surefit.laws.layers.lost_axes import bare_squeezes
from surefit.laws.operations.broadcast_sides import Sides, broadcast, sides_of
from surefit.remedies.append import Append
from surefit.remedies.together import Together
from surefit.source.reading import Source, called, dotted

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
    if sides is None or is_a_squeezed_row(predictions, case):
        return None
    side = predictions if sides.of_predictions else target
    words = f"Remove the axis: {code(side.name[1:-1] + sides.squeeze)}."
    must = broken.gets(target_shape=sides.shapes[1], shape=sides.shapes[1])
    parts = [Append(at=side.use, suffix=sides.squeeze, words=words, must=must)]
    if not target.dtype.startswith("float"):
        words += " And give the targets as floats: `.float()`."
        suffix = ".float()" if sides.of_predictions else f"{sides.squeeze}.float()"
        cast = Append(at=target.use, suffix=suffix, words=words, must=must, alike=False)
        parts = [*parts, cast] if sides.of_predictions else [cast]
    return case.finding(
        broken.use.place,
        headline(sides, broken.called),
        facts=(predictions.fact(), target.fact()),
        why="There is one prediction for each target; only an axis of size 1 is between them.",
        remedies=(Together(parts=tuple(parts), words=words, must=must),),
    )


def is_a_squeezed_row(predictions: Operand, case: Case) -> bool:
    """A `squeeze()` without an axis has taken the batch axis of a batch of one row, too; that is
    explained by axis-lost-for-few-rows."""
    if predictions.shape != ():
        return False
    try:
        lineage = case.lineage(predictions)
    except Unanswered:
        return False
    return any(True for _ in bare_squeezes(lineage, case))


def headline(sides: Sides, name: str) -> str:
    return f"{sides.in_words}: {name} takes both in one shape, without the axis of size 1."


@RULE.on(Steps)
def every_pair_is_compared(steps: Steps, recording: Recording) -> Iterator[Finding]:
    """Nothing is raised where a loss broadcasts."""
    if steps.process.rank not in (None, 0):
        return
    case = Case(recording, rule=RULE)
    for call in steps.loss_calls:
        if call.name not in OF_DISTANCE or not call.training or call.place is None:
            continue
        written = call_at(case, call)
        uses = [case.argument(written, name, at) for at, name in enumerate(("input", "target"))]
        names = [
            code(use.text) if use else name
            for use, name in zip(uses, ("the predictions", "the targets"), strict=True)
        ]
        sides = sides_of((names[0], call.shape), (names[1], call.target_shape))
        pairs = broadcast(call.shape, call.target_shape)
        if sides is not None and pairs is not None and pairs != sides.shapes[0]:
            at = uses[0 if sides.of_predictions else 1]
            count = f"{times(pairs)} = {counted(prod(pairs), 'pair')}"
            yield compared(case, call, sides, count, at)
            return


def compared(
    case: Case, call: LossCall, sides: Sides, count: str, at: Expression | None
) -> Finding:
    meant, place = sides.shapes[1], call.place
    assert place is not None
    must = LossGets(
        name=call.name,
        place=Place(place.file, place.line),
        target_shape=meant,
        shape=meant,
        changes_the_past=True,
        steps=PROOF_STEPS,
        any_size=True,
    )
    words = f"Remove the axis: {code(sides.squeeze)} on {sides.names[0]}."
    return case.finding(
        place,
        headline(sides, f"`{call.name}`"),
        facts=(
            Fact("compared", f"{count}, instead of {counted(prod(meant), 'pair')}"),
            Fact("calls", f"{call.calls:,}, none of which raised anything"),
        ),
        why="The shapes are broadcast: each prediction is drawn to every target of the batch, and"
        " the model learns their mean.",
        remedies=(Append(at=at, suffix=sides.squeeze, words=words, must=must, alike=False),),
    )


def call_at(case: Case, call: LossCall) -> Expression | None:
    """The one call on the line that can be the loss: its function, or an object of its class."""
    source, line = case.source(call.place), call.place.line if call.place else None
    kind = LAYERS.get(call.name, "")
    if source is None or line is None:
        return None
    calls = [
        node
        for node in source.calls_in(line)
        if called(node) == call.name or is_loss(source, node.func, kind)
    ]
    return case.expression(source, calls[0]) if len(calls) == 1 else None


def is_loss(source: Source, node: ast.expr, kind: str) -> bool:
    """`criterion`, `self.loss`, or the constructor itself, called at once."""
    if isinstance(node, ast.Call):
        return called(node) == kind
    name = dotted(node).rpartition(".")[2]
    return any(
        isinstance(statement.value, ast.Call)
        and called(statement.value) == kind
        and any(dotted(target).rpartition(".")[2] == name for target in statement.targets)
        for statement in source.every(ast.Assign)
    )
