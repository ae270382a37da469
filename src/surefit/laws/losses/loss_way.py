"""Operations in the user's own lines between the output of a model and the loss."""

import ast
from collections.abc import Iterator

from surefit.doctor.observations import Operation
from surefit.doctor.recording import Recording
from surefit.laws.losses.loss_stories import plain_name, story_of_loss
from surefit.source.reading import Source

INDEXES = ("getitem", "select", "narrow", "index_select", "slice", "unbind")
SOFTMAX = ("softmax", "log_softmax", "logsumexp")
COMPARES = ("ge", "gt", "le", "lt", "eq", "ne", "invert", "logical_not")


def cutting_operation(recording: Recording, size: int) -> Operation | None:
    """The index, nearest to the loss, that takes a part of an axis of this size."""
    story = story_of_loss(recording, 0, beside=True)
    for operation in story.operations if story is not None else ():
        if plain_name(operation.name) not in INDEXES or not operation.own or not operation.grad:
            continue
        before = [story.by_serial(serial) for serial in operation.takes] if story else []
        known = [taken.shape for taken in before if taken is not None and taken.grad]
        if known and known[0].count(size) > operation.shape.count(size):
            return operation
    return None


def softmax_operation(recording: Recording) -> Operation | None:
    story = story_of_loss(recording, 0, beside=True)
    every = story.operations if story is not None else ()
    return next((known for known in every if known.own and plain_name(known.name) in SOFTMAX), None)


def last_operation(recording: Recording) -> Operation | None:
    """Which the loss is the result of."""
    story = story_of_loss(recording, 0, beside=True)
    every = story.operations if story is not None else ()
    return next((known for known in every if known.own and known.place is not None), None)


def comparisons(recording: Recording) -> Iterator[Operation]:
    """What masks are made by: without a gradient, and a truth for each element."""
    story = story_of_loss(recording, 0, beside=True)
    for operation in story.operations if story is not None else ():
        if operation.own and not operation.grad and plain_name(operation.name) in COMPARES:
            yield operation


def result_of(source: Source, line: int) -> ast.expr | None:
    """What a statement assigns or gives back."""
    statement = source.statement_at(line)
    match statement:
        case ast.Assign(value=value) | ast.Return(value=ast.expr() as value):
            return value
        case ast.AnnAssign(value=ast.expr() as value):
            return value
    return None
