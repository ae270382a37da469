"""A loss written by hand compares every prediction with every target.

## What happens
A model with one output gives [N, 1], and the targets are [N]. `pred - target` broadcasts both to
[N, N]: each prediction less each target. `((pred - target) ** 2).mean()` is then a mean over N × N
pairs, of which N are meant.

## Why it matters
Nothing is raised, and torch does not even warn. The loss falls until the model predicts the mean of
the targets for every row, and stays there.

## What to do
Give both the same shape: `.squeeze(-1)` on the predictions, or `.unsqueeze(-1)` on the targets.

## How it is recognised
A second run tells the shapes of both sides of a difference that is larger than its predictions.
They are equal but for one axis of size 1, only one of them gets a gradient, nothing but powers,
absolute values and means follow, and the axis was not put there for this difference, as for a
distance between all pairs. Losses of `torch.nn` are looked at by `size-of-predictions`.
"""

import ast
from collections.abc import Iterator
from math import prod

from surefit.doctor.conditions.differences import DifferenceOver
from surefit.doctor.findings import Fact, Finding, Fix, Severity
from surefit.doctor.observations import Operation, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.words import code, counted, shape_of, times
from surefit.laws.case import NOT_FOUND
from surefit.laws.losses.loss_stories import LossStory, plain_name, story_of_loss
from surefit.laws.operations.broadcast_sides import Sides, broadcast, sides_of
from surefit.source.edits import appended
from surefit.source.reading import Source

RULE = Rule("SF412", "silent-broadcast", Severity.ERROR, __doc__)

PROOF_STEPS = 8
FOLLOWS = ("pow", "square", "abs", "sqrt", "mul", "div", "truediv", "neg", "log", "cosh", "add")
REDUCES = ("mean", "sum", "nanmean")


@RULE.on(Steps)
def every_prediction_meets_every_target(steps: Steps, seen: Recording) -> Iterator[Finding]:
    if steps.process.rank not in (None, 0):
        return
    spread = [one.shape for one in steps.differences if is_spread(one.shape, one.side)]
    story = story_of_loss(seen, 0, beside=True) if spread else None
    for operation in story.operations if story else ():
        sides = sides_at(operation, story, seen) if story and operation.shape in spread else None
        if sides is not None:
            yield finding(operation, sides, seen)
            return


def is_spread(shape: tuple[int, ...], side: tuple[int, ...]) -> bool:
    """As a difference is whose sides are [N, 1] and [N]: [N, N]."""
    if len(side) == len(shape) and side[-1:] == (1,):
        return len(shape) > 1 and shape == (*side[:-1], side[-2]) and side[-2] > 1
    return len(shape) > 1 and side == shape[1:] and shape[0] == side[0] and side[-1] > 1


def sides_at(operation: Operation, story: LossStory, seen: Recording) -> Sides | None:
    """Of a difference in the user's own line that the loss is the mean or sum of."""
    given = [story.by_serial(serial) for serial in operation.takes]
    if plain_name(operation.name) != "sub" or not operation.own or len(given) != 2:
        return None
    one, other = given
    if one is None or other is None or one.grad is other.grad or not is_mean_of(operation, story):
        return None
    predictions, targets = (one, other) if one.grad else (other, one)
    names = ["the predictions", "the targets"]
    if written := written_at(operation, seen):
        source, (left, right) = written
        both = (left, right) if one.grad else (right, left)
        names = [code(source.segment(side)) for side in both]
    sides = sides_of((names[0], predictions.shape), (names[1], targets.shape))
    longer = predictions if sides and sides.of_predictions else targets
    if sides is None or broadcast(*sides.shapes) != operation.shape or is_made_for(longer, story):
        return None
    return sides


def is_mean_of(operation: Operation, story: LossStory) -> bool:
    """Element by element, and then over all of them."""
    here = operation
    while True:
        uses = [one for one in story.operations if here.serial in one.takes and one.grad]
        if len(uses) != 1:
            return False
        here = uses[0]
        name = plain_name(here.name)
        if name in REDUCES and here.shape == ():
            return True
        if name not in FOLLOWS or here.shape != operation.shape:
            return False


def is_made_for(longer: Operation, story: LossStory) -> bool:
    """The axis is the last thing that happened to it, or it is a parameter: all pairs are meant."""
    taken = [story.by_serial(serial) for serial in longer.takes]
    known = [len(one.shape) for one in taken if one is not None]
    adds = bool(known) and known[0] < len(longer.shape) and longer.own
    return adds or longer.name == "parameter"


def written_at(
    operation: Operation, seen: Recording
) -> tuple[Source, tuple[ast.expr, ast.expr]] | None:
    """Both sides of the one `a - b` of a line, none of which is a number."""
    source, place = seen.source(operation.place), operation.place
    if source is None or place is None or place.line is None:
        return None
    found = [
        node
        for node in source.every(ast.BinOp)
        if isinstance(node.op, ast.Sub)
        and place.line <= node.lineno <= (place.end_line or place.line)
        and not any(isinstance(one, ast.Constant) for one in (node.left, node.right))
    ]
    return (source, (found[0].left, found[0].right)) if len(found) == 1 else None


def finding(operation: Operation, sides: Sides, seen: Recording) -> Finding:
    assert operation.place is not None
    meant = prod(sides.shapes[1])
    pairs = f"{times(operation.shape)} = {counted(prod(operation.shape), 'pair')}"
    return RULE.finding(
        operation.place,
        f"{sides.in_words}: their difference is {shape_of(operation.shape)}, every prediction less"
        " every target.",
        facts=(Fact("compared", f"{pairs}; {counted(meant, 'pair')} are meant"),),
        why="The shapes are broadcast: each prediction is drawn to every target of the batch, and"
        " the model learns their mean.",
        fixes=(fix(operation, sides, seen),),
    )


def fix(operation: Operation, sides: Sides, seen: Recording) -> Fix:
    said = f"Remove the axis: {code(sides.squeeze)} on {sides.names[0]}."
    written = written_at(operation, seen)
    if written is None:
        return Fix(said, why_not_tried=NOT_FOUND)
    source, parts = written
    nodes = {code(source.segment(part)): part for part in parts}
    must = DifferenceOver(sides.shapes[1], operation.shape, PROOF_STEPS)
    return Fix(said, appended(source, nodes[sides.names[0]], sides.squeeze), must)
