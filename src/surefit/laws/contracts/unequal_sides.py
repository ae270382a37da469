"""What is combined row by row has as many rows on both sides: losses, states, sums, masks."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Condition
from surefit.doctor.conditions.loss_rows import RowsAtTheLoss
from surefit.doctor.conditions.training import TrainingGoesOn
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.observations import Frame, Layer, Value
from surefit.doctor.violations import Operand, Violation, in_code
from surefit.laws.case import Case, use_of
from surefit.laws.contracts.losses import OF_CLASSES, is_loss
from surefit.laws.operations.demands import conflicts
from surefit.laws.operations.failing_calls import failing_call
from surefit.laws.values.names import name_in

STATE = "expected_hidden_size"
"""An argument of the function in which recurrent layers check their state."""
STATE_ROWS = 1
"""The axis of a state that counts rows."""
JOINS = ("cat", "concat", "concatenate", "stack")
RAISED = ("RuntimeError", "ValueError", "IndexError")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnequalSides(Violation):
    """Two tensors that are used together differ in the size of one axis. Reported for each of the
    two, where both are tensors: which of them is wrong is told by where it got its size."""

    side: Operand
    other: Operand
    axis: int
    """Of `side`, along which it differs."""
    size: int
    """Of `side` along that axis."""
    expected: int
    """Of the other one."""
    layer: Layer | None = None
    """The recurrent layer that was given `side` as its state."""
    of_loss: bool = False

    @property
    def more(self) -> int:
        """How many rows of `side` there are for each of the other; 0 where that is no integer."""
        uneven = not self.expected or self.size % self.expected or self.axis
        return 0 if uneven else self.size // self.expected

    def holds(self, case: Case) -> Condition:
        """The wrong side has the size of the other, which is as it was, at the user's line that
        failed; where that has no names for them, at every loss."""
        own = case.own
        texts = {value.text for value in own.values} if own is not None else set()
        names = self.side.name.strip("`"), self.other.name.strip("`")
        if own is None or names[0] not in texts:
            return TrainingGoesOn() if self.axis else RowsAtTheLoss(self.expected)
        shape = list(self.side.shape)
        shape[self.axis] = self.expected
        wanted = [Wanted(names[0], tuple(shape))]
        if names[1] in texts:
            wanted.append(Wanted(names[1], self.other.shape))
        return ValuesAt(own.place, tuple(wanted))


def violations_of(case: Case) -> Iterator[Violation]:
    if case.crash is None or case.own is None or case.crash.kind not in RAISED:
        return
    innermost = case.frames[-1]
    losses = [number for number, frame in enumerate(case.frames) if is_loss(frame)]
    if STATE in innermost.arguments and innermost.layer is not None:
        yield from of_state(case, case.own, innermost.layer)
    elif losses:
        yield from of_loss(case, case.own, losses[0])
    elif innermost.own:
        yield from of_expression(case, case.own)


def of_state(case: Case, own: Frame, layer: Layer) -> Iterator[UnequalSides]:
    number = len(case.frames) - 1
    state, sizes = case.value(number, "hx"), case.value(number, STATE)
    scalars = [member.scalar for member in sizes.members.values()] if sizes else []
    expected = tuple(size for size in scalars if type(size) is int)
    if state is None or not state.shape or len(expected) != len(state.shape):
        return
    axes = [axis for axis, size in enumerate(expected) if size != state.shape[axis]]
    if axes == [STATE_ROWS]:
        yield UnequalSides(
            use=use_of(own),
            side=operand(case, state, number, "the state"),
            other=Operand(value=Value("", "Tensor", shape=expected), name="the expected state"),
            axis=STATE_ROWS,
            size=state.shape[STATE_ROWS],
            expected=expected[STATE_ROWS],
            layer=layer,
        )


def of_loss(case: Case, own: Frame, number: int) -> Iterator[UnequalSides]:
    sides = [case.value(number, name) for name in ("input", "target")]
    operands = [operand(case, side, number, f"`{side.text}`") for side in sides if side is not None]
    if len(operands) < 2 or not all(known.shape for known in operands):
        return
    rows, target = operands[0].shape, operands[1].shape
    of_classes = case.frames[number].function in OF_CLASSES
    if of_classes:
        rows = (*rows[:1], *rows[2:])
    axes = unequal(rows, target) if len(rows) == len(target) else []
    if len(axes) != 1:
        return
    axis, sizes = axes[0], (rows[axes[0]], target[axes[0]])
    after = axis + 1 if axis and of_classes else axis
    first, second = operands
    pairs = ((first, second, after), (second, first, axis))
    for (side, other, at), size, expected in zip(pairs, sizes, reversed(sizes), strict=True):
        yield UnequalSides(
            use=use_of(own),
            side=side,
            other=other,
            axis=at,
            size=size,
            expected=expected,
            of_loss=True,
        )


def of_expression(case: Case, own: Frame) -> Iterator[UnequalSides]:
    """Two sizes that the operation in the user's own line takes only if they are equal."""
    call = failing_call(case)
    conflict = next(conflicts(call.contract.demands, call.given), None) if call else None
    if call is None or conflict is None or conflict.other is None or conflict.about != "size":
        return
    sides = [call.operands.get(side.argument) for side in (conflict.side, conflict.other)]
    joined = call.operation in JOINS
    for side, other in (sides, sides[::-1]):
        if side is None or other is None or side.value.kind == "Parameter":
            continue
        axis = differing(side.shape, other.shape, joined)
        if axis is not None:
            yield UnequalSides(
                use=use_of(own),
                side=side,
                other=other,
                axis=axis,
                size=side.shape[axis],
                expected=other.shape[axis],
            )


def operand(case: Case, value: Value, frame: int, otherwise: str) -> Operand:
    return Operand(value=value, name=in_code(name_in(case, value, frame), otherwise), frame=frame)


def unequal(first: tuple[int, ...], second: tuple[int, ...]) -> list[int]:
    pairs = enumerate(zip(first, second, strict=True))
    return [axis for axis, (size, other) in pairs if size != other]


def differing(first: tuple[int, ...], second: tuple[int, ...], joined: bool) -> int | None:
    """The only axis on which two shapes differ; sizes of 1 are repeated and do not count. Features
    that are joined differ along their own axis by right, so that only the first one counts."""
    if len(first) != len(second):
        return None
    if joined:
        return 0 if first[0] != second[0] else None
    axes = unequal(first, second)
    clear = [axis for axis in axes if 1 not in (first[axis], second[axis])]
    if len(clear) == 1:
        return clear[0]
    return axes[0] if len(axes) == 1 and not clear else None
