"""Predictions with several rows for each label, and the reshape that folded them into the batch."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Crash, Frame, Operation, Value
from surefit.doctor.recording import Recording
from surefit.evidence.origins import names_in
from surefit.evidence.value_stories import story_of_value, taken

FOLDS = ("view", "reshape", "flatten")
KEEP_PLACES = (
    "relu",
    "relu_",
    "leaky_relu",
    "gelu",
    "silu",
    "elu",
    "tanh",
    "sigmoid",
    "dropout",
    "dropout2d",
    "batch_norm",
    "contiguous",
)
"""Operations after which a map has as many positions as before."""
LEAST_AXES = 3


@dataclass(frozen=True, slots=True)
class Rows:
    """Predictions and labels that do not have the same number of rows."""

    frame: int
    predictions: Value
    labels: Value

    @property
    def predicted(self) -> int:
        return (self.predictions.shape or (0,))[0]

    @property
    def labelled(self) -> int:
        return (self.labels.shape or (0,))[0]


@dataclass(frozen=True, slots=True)
class Fold:
    """The operation after which there were more rows, and what it was given."""

    operation: Operation
    given: Operation
    story: tuple[Operation, ...]

    @property
    def before(self) -> tuple[int, ...]:
        return self.given.shape

    @property
    def width(self) -> int:
        return self.operation.shape[-1]


def uneven_rows(crash: Crash) -> Rows | None:
    """Of the innermost call that compares predictions with labels."""
    for number, frame in reversed(list(enumerate(crash.frames))):
        if frame.own:
            pair = in_expression(frame)
            return Rows(number, *pair) if pair else None
        values = {value.text: value for value in frame.values}
        if "input" in frame.arguments and "target" in frame.arguments:
            given, target = values.get("input"), values.get("target")
            if given and target and are_uneven(given, target):
                return Rows(number, given, target)
    return None


def rows_at_the_loss(crash: Crash) -> Rows | None:
    """What a loss was given, where the two sides have any other number of rows."""
    frame = crash.frames[-1] if crash.frames else None
    if frame is None or not {"input", "target"} <= set(frame.arguments):
        return None
    values = {value.text: value for value in frame.values}
    given, target = values.get("input"), values.get("target")
    if given is None or target is None or not given.shape or not target.shape:
        return None
    rows = Rows(len(crash.frames) - 1, given, target)
    return rows if rows.predicted != rows.labelled else None


def in_expression(frame: Frame) -> tuple[Value, Value] | None:
    """`predicted == labels`, with names on both sides."""
    named = names_in(frame.expression or "")
    tensors = [one for one in frame.values if one.text in named and one.shape]
    pairs = [(one, two) for one in tensors for two in tensors if are_uneven(one, two)]
    return pairs[0] if len(pairs) == 1 else None


def are_uneven(predictions: Value, labels: Value) -> bool:
    """Several times as many rows, and not as many as there are labels in all."""
    one, two = predictions.shape, labels.shape
    if not one or not two or two[0] < 2 or one[0] <= two[0] or one[0] % two[0]:
        return False
    count = 1
    for size in two:
        count *= size
    return count != one[0]


def fold_of(crash: Crash, rows: Rows, seen: Recording) -> Fold | None:
    """Told by a second run, back from the predictions."""
    story = story_of_value(seen, crash, rows.frame, rows.predictions.text)
    here = story[0] if story else None
    while here is not None:
        before = [one for one in taken(here, story) if one.shape and one.name != "parameter"]
        whole = [one for one in before if one.shape[0] == rows.labelled]
        if whole and len(whole[0].shape) >= LEAST_AXES and is_fold(here):
            return Fold(here, whole[0], tuple(story))
        here = next((one for one in before if one.shape[0] == rows.predicted), None)
    return None


def is_fold(operation: Operation) -> bool:
    """Rows of plain numbers come of it; several pictures of one that stay pictures are meant."""
    return operation.name in FOLDS and len(operation.shape) == len(("rows", "features"))


def made_by(fold: Fold) -> Iterator[Operation]:
    """Operations back from what was folded, as long as the number of positions stays."""
    here: Operation | None = fold.given
    while here is not None:
        yield here
        if here.name not in KEEP_PLACES:
            return
        before = [one for one in taken(here, list(fold.story)) if len(one.shape) >= LEAST_AXES]
        here = before[0] if before else None


def call_of_fold(node: ast.AST) -> ast.Call | None:
    """The reshape in a statement, if it has just one."""
    found = [
        one
        for one in ast.walk(node)
        if isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr in FOLDS
    ]
    return found[0] if len(found) == 1 else None
