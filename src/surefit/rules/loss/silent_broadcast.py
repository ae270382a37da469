"""A loss written by hand compares every prediction with every target.

## What happens
A model with one output gives [N, 1], and the targets are [N]. `pred - target` broadcasts both to
[N, N]: `((pred - target) ** 2).mean()` is a mean over N × N pairs, of which N are meant.

## Why it matters
Nothing is raised, and torch does not even warn. The loss falls until the model predicts the mean of
the targets for every row, and stays there.

## What to do
Give both the same shape: `.squeeze(-1)` on the predictions, or `.unsqueeze(-1)` on the targets.

## How it is recognised
The graph of the first loss has a difference that is larger than its predictions; a second run tells
the shapes of both sides. They are equal but for one axis of size 1, only one of them gets a
gradient, nothing but powers, absolute values and means follow, and the axis was not put there for
this difference, as for a distance between all pairs. `size-of-predictions` has losses of
`torch.nn`.
"""

import ast
from collections.abc import Iterator
from math import prod

from surefit.doctor.conditions.differences import DifferenceOver
from surefit.doctor.findings import Fact, Finding, Severity
from surefit.doctor.observations import Operation, Steps
from surefit.doctor.recording import Recording
from surefit.doctor.rule import Rule
from surefit.doctor.violations import Expression
from surefit.doctor.words import code, counted, shape_of, times
from surefit.evidence.broadcast_sides import broadcast, sides_of
from surefit.evidence.failed_operations import plain_name
from surefit.evidence.stories import LossStory, story_of_loss
from surefit.laws.case import Case
from surefit.remedies.append import Append

RULE = Rule("SF412", "silent-broadcast", Severity.ERROR, __doc__)

PROOF_STEPS = 8
FOLLOWS = ("pow", "square", "abs", "sqrt", "mul", "div", "truediv", "neg", "log", "cosh", "add")
REDUCES = ("mean", "sum", "nanmean")


@RULE.on(Steps)
def every_prediction_meets_every_target(steps: Steps, recording: Recording) -> Iterator[Finding]:
    if steps.process.rank not in (None, 0):
        return
    spread = [known.shape for known in steps.differences if is_spread(known.shape, known.side)]
    story = story_of_loss(recording, 0, beside=True) if spread else None
    for operation in story.operations if story else ():
        if operation.shape in spread and story is not None:
            finding = compared(operation, story, Case(recording, rule=RULE))
            if finding is not None:
                yield finding
                return


def is_spread(shape: tuple[int, ...], side: tuple[int, ...]) -> bool:
    """As a difference is whose sides are [N, 1] and [N]: [N, N]."""
    if len(side) == len(shape) and side[-1:] == (1,):
        return len(shape) > 1 and shape == (*side[:-1], side[-2]) and side[-2] > 1
    return len(shape) > 1 and side == shape[1:] and shape[0] == side[0] and side[-1] > 1


def compared(operation: Operation, story: LossStory, case: Case) -> Finding | None:
    """A difference in the user's own line that the loss is the mean or sum of."""
    given = [story.by_serial(serial) for serial in operation.takes]
    if plain_name(operation.name) != "sub" or not operation.own or len(given) != 2:
        return None
    left, right = given
    if left is None or right is None or left.grad is right.grad or operation.place is None:
        return None
    written = sides_written(operation, case)
    names = [code(side.text) for side in written] or ["the predictions", "the targets"]
    order = slice(None) if left.grad or not written else slice(None, None, -1)
    predictions, targets = (left, right) if left.grad else (right, left)
    first, second = names[order]
    sides = sides_of((first, predictions.shape), (second, targets.shape))
    longer = predictions if sides and sides.of_predictions else targets
    if sides is None or broadcast(*sides.shapes) != operation.shape or is_made_for(longer, story):
        return None
    if not is_mean_of(operation, story):
        return None
    pairs = f"{times(operation.shape)} = {counted(prod(operation.shape), 'pair')}"
    meant = counted(prod(sides.shapes[1]), "pair")
    return case.finding(
        operation.place,
        f"{sides.in_words}: their difference is {shape_of(operation.shape)}, every prediction less"
        " every target.",
        facts=(Fact("compared", f"{pairs}; {meant} are meant"),),
        why="The shapes are broadcast: each prediction is drawn to every target of the batch, and"
        " the model learns their mean.",
        remedies=(
            Append(
                at=written[longer is right] if written else None,
                suffix=sides.squeeze,
                words=f"Take the axis away: {code(sides.squeeze)} on {sides.names[0]}.",
                must=DifferenceOver(sides.shapes[1], operation.shape, PROOF_STEPS),
                alike=False,
            ),
        ),
    )


def is_mean_of(operation: Operation, story: LossStory) -> bool:
    """Element by element, and then over all of them."""
    here = operation
    while True:
        uses = [use for use in story.operations if here.serial in use.takes and use.grad]
        if len(uses) != 1:
            return False
        here = uses[0]
        if plain_name(here.name) in REDUCES and here.shape == ():
            return True
        if plain_name(here.name) not in FOLLOWS or here.shape != operation.shape:
            return False


def is_made_for(longer: Operation, story: LossStory) -> bool:
    """The axis is the last thing that happened to it, or it is a parameter: all pairs are meant."""
    taken = [story.by_serial(serial) for serial in longer.takes]
    known = [len(before.shape) for before in taken if before is not None]
    adds = bool(known) and known[0] < len(longer.shape) and longer.own
    return adds or longer.name == "parameter"


def sides_written(operation: Operation, case: Case) -> list[Expression]:
    """Both sides of the one `a - b` of a line, none of which is a number."""
    source, place = case.source(operation.place), operation.place
    if source is None or place is None or place.line is None:
        return []
    pairs = [
        (node.left, node.right)
        for node in source.every(ast.BinOp)
        if isinstance(node.op, ast.Sub)
        and place.line <= node.lineno <= (place.end_line or place.line)
        and not any(isinstance(side, ast.Constant) for side in (node.left, node.right))
    ]
    return [case.expression(source, side) for side in pairs[0]] if len(pairs) == 1 else []
