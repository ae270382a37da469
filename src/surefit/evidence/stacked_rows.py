"""Rows that were stacked several times along the batch, and in which order."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefit.doctor.observations import Crash, Frame, Operation, Value
from surefit.doctor.recording import Recording
from surefit.evidence.origins import names_in
from surefit.evidence.value_stories import story_of_value, taken

RESHAPES = ("view", "reshape", "flatten", "contiguous")
JOINS = ("cat", "concat", "concatenate")
MOST_OPERATIONS = 60
LEAST_AXES = 3
"""Rows, and two axes that attend to each other."""
ATTENTION = "multi_head_attention_forward"


@dataclass(frozen=True, slots=True)
class Misfit:
    """A tensor with several rows for each row of another, which otherwise fit together."""

    frame: int
    stacked: Value
    plain: Value

    @property
    def rows(self) -> int:
        return (self.plain.shape or (0,))[0]

    @property
    def times(self) -> int:
        return (self.stacked.shape or (0,))[0] // self.rows


@dataclass(frozen=True, slots=True)
class Stacking:
    """The operation that stacked the rows."""

    operation: Operation
    by_row: bool
    """All copies of the first row come first: `repeat_interleave`; otherwise each copy of the
    whole batch behind the other, as `repeat` does it."""


def misfit_of_rows(crash: Crash) -> Misfit | None:
    """In the failing expression of the user's own line."""
    frame = crash.frames[-1] if crash.frames else None
    if frame is None or not frame.own:
        return None
    tensors = [
        one for one in frame.values if one.text in names_in(frame.expression or "") and one.shape
    ]
    found = [
        Misfit(len(crash.frames) - 1, one, two)
        for one in tensors
        for two in tensors
        if differ_in_rows(one.shape or (), two.shape or ())
    ]
    return found[0] if found else None


def differ_in_rows(stacked: tuple[int, ...], plain: tuple[int, ...]) -> bool:
    """As many axes, sizes that go together on all but the first, and a multiple on that."""
    if len(stacked) != len(plain) or len(stacked) < LEAST_AXES or plain[0] < 2:
        return False
    rest = zip(stacked[1:], plain[1:], strict=True)
    together = all(one == two or 1 in (one, two) for one, two in rest)
    return together and stacked[0] > plain[0] and stacked[0] % plain[0] == 0


def misfit_in_attention(crash: Crash) -> Misfit | None:
    """A mask of three axes that torch's own attention was given: its heads stand beside the rows,
    those of a row together."""
    inside, own = crash.frames[-1] if crash.frames else None, crash.own_frame
    if inside is None or own is None or inside.function.rpartition(".")[2] != ATTENTION:
        return None
    values = {value.text: value for value in inside.values}
    mask, heads = values.get("attn_mask"), values.get("num_heads")
    rows = values.get("bsz")
    if mask is None or heads is None or rows is None or type(heads.scalar) is not int:
        return None
    shape = mask.shape or ()
    if len(shape) != LEAST_AXES or heads.scalar < 2 or shape[0] != rows.scalar:
        return None
    named = names_in(own.expression or own.line)
    plain = [one for one in own.values if one.text in named and one.shape == shape]
    if not plain:
        return None
    stacked = replace(mask, text="attn_mask", shape=(shape[0] * heads.scalar, *shape[1:]))
    return Misfit(crash.frames.index(own), stacked, plain[0])


def stacking_of(crash: Crash, misfit: Misfit, seen: Recording) -> Stacking | None:
    """Told by a second run, back from the tensor with more rows."""
    story = story_of_value(seen, crash, misfit.frame, misfit.stacked.text)
    waiting = story[:1]
    met: set[int] = set()
    while waiting and len(met) < MOST_OPERATIONS:
        here = waiting.pop(0)
        met.add(here.serial)
        before = [one for one in taken(here, story) if one.shape and one.name != "parameter"]
        order = order_of(here, before, story, misfit)
        if order is not None:
            return Stacking(here, order)
        whole = misfit.rows * misfit.times
        waiting += [one for one in before if one.shape[0] == whole and one.serial not in met]
    return None


def order_of(
    operation: Operation, before: list[Operation], story: list[Operation], misfit: Misfit
) -> bool | None:
    """Whether rows stay together; None where the operation stacks nothing, or its order cannot be
    told from the shapes."""
    rows, times = misfit.rows, misfit.times
    if not operation.shape or operation.shape[0] != rows * times:
        return None
    if operation.name in JOINS and len(before) == times:
        return False if all(one.shape[0] == rows for one in before) else None
    if operation.name in RESHAPES and before:
        first = before[0].shape[:2]
        if first == (rows, times) == (times, rows):
            return by_turning(before[0], story)
        return True if first == (rows, times) else False if first == (times, rows) else None
    if operation.name == "repeat_interleave" and before and before[0].shape[0] == rows:
        return True
    if operation.name == "repeat" and before and before[0].shape[0] == rows:
        return False
    return None


def by_turning(operation: Operation | None, story: list[Operation]) -> bool | None:
    """Where there are as many copies as rows: whether the first axis still is that of the rows."""
    while operation is not None and operation.name == "contiguous":
        operation = next(iter(taken(operation, story)), None)
    if operation is None:
        return None
    axes = [int(number) for number in operation.numbers]
    if operation.name == "transpose":
        return True if 0 not in axes else None
    if operation.name == "permute" and 0 in axes[:2]:
        return axes[0] == 0
    return None


def count_named(frame: Frame, times: int) -> str:
    """What the frame calls the number of copies: `self.heads`; the number itself if nothing."""
    owner = frame.arguments[0] if frame.layer is not None and frame.arguments else ""
    sizes = frame.layer.sizes if frame.layer is not None else {}
    names = [f"{owner}.{name}" for name, size in sizes.items() if size == times and "[" not in name]
    names += [one.text for one in frame.values if type(one.scalar) is int and one.scalar == times]
    heads = [name for name in names if "head" in name.lower()]
    return next(iter([*heads, *names]), str(times))


def nodes_of(statement: ast.AST, text: str) -> Iterator[ast.expr]:
    for node in ast.walk(statement):
        if isinstance(node, ast.expr) and ast.unparse(node) == text:
            yield node
