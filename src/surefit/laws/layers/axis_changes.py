"""Where a tensor lost or gained an axis on its way from the data."""

import ast
from dataclasses import dataclass
from itertools import pairwise

from surefit.laws.case import Case
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import PASSING, Producer, Way
from surefit.lineage.ways import STACKS, operation, shape, way_back
from surefit.source.edits import BINDS_TIGHTLY
from surefit.source.reading import Source

REDUCES = ("mean", "sum", "max", "min", "median", "std", "amax", "amin", "nanmean")


@dataclass(frozen=True, slots=True)
class AxisChange:
    """An expression of the user's after which a tensor has more or fewer axes."""

    producer: Producer
    before: tuple[int, ...]
    after: tuple[int, ...]
    rows: int = 0
    """Axes that a loader has added in front since."""

    @property
    def name(self) -> str:
        """`mean`, `squeeze`, `unsqueeze`; empty for an index."""
        return operation(self.producer)

    @property
    def picks_a_row(self) -> bool:
        return self.before[1:] == self.after and self.name in ("", "select", "unbind")

    @property
    def axis(self) -> int | None:
        """Which one went or came, as it is counted in the batch."""
        longer, shorter = sorted((self.before, self.after), key=len, reverse=True)
        for at in range(len(longer)):
            if (*longer[:at], *longer[at + 1 :]) == shorter:
                return at + self.rows
        return None


@dataclass(frozen=True, slots=True)
class AxisChanges:
    """Changes, the newest first, and the user's expressions on the way."""

    changes: tuple[AxisChange, ...] = ()
    way: tuple[Producer, ...] = ()


def axis_changes(lineage: Lineage) -> AxisChanges:
    found: list[AxisChange] = []
    rows = int(any(root.way is Way.ROW for root in lineage.root))
    way = [producer for producer in way_back(lineage) if producer.value.shape is not None]
    for after, before in pairwise(way):
        grown = len(shape(after)) - len(shape(before))
        if grown == 1 and is_stack(lineage, after, before):
            rows += 1
        elif rows and grown == -1 and shape(before)[1:] == shape(after) and not operation(after):
            rows -= 1
        elif grown:
            found.append(AxisChange(after, shape(before), shape(after), rows))
    own = [producer for producer in way if producer.own and producer.kind not in PASSING]
    return AxisChanges(tuple(found), tuple(own))


def is_stack(lineage: Lineage, after: Producer, before: Producer) -> bool:
    """Rows were put together: by a loader, or by a list of them."""
    by_row = [
        source.way for source, inner in lineage.inputs(after) if inner.serial == before.serial
    ]
    several = len([inner for _, inner in lineage.inputs(after) if inner.value.shape]) > 1
    stacks = operation(after) in STACKS and (several or not after.own)
    return stacks or Way.ROW in by_row or (not after.own and after.value.kind == "Tensor")


def newest(story: AxisChanges, lost: bool) -> AxisChange | None:
    """The last expression of the user's that took an axis away, or added one, which nothing made
    good for afterwards; None where a library's call between them changed their number, too."""
    balance = 0
    for change in story.changes:
        delta = len(change.after) - len(change.before)
        delta = -delta if lost else delta
        if change.producer.own and delta > 0 and balance == 0:
            return change
        balance -= delta
    return None


def lost_axis(lineage: Lineage) -> AxisChange | None:
    """The newest loss of an axis other than the first, by a reduction, a squeeze or an index."""
    change = newest(axis_changes(lineage), lost=True)
    if change is None or change.name not in (*REDUCES, "squeeze", ""):
        return None
    return change if change.axis else None


def reduced_instead(lineage: Lineage, wanted: int, left: int) -> AxisChange | None:
    """The newest reduction by the user that took the axis of one size away, and left that of
    another."""
    for change in axis_changes(lineage).changes:
        at, own = change.axis, change.producer.own
        if not own or change.name not in REDUCES or at is None or not at < len(change.before):
            continue
        if change.before[at] == wanted and left in change.before[1:]:
            return change
    return None


def receiver(source: Source, node: ast.expr) -> ast.expr | None:
    """What an operation is done to: `x` of `x.mean(1)`, of `torch.mean(x, 1)`, of `x[None]`."""
    if isinstance(node, ast.Subscript):
        return node.value
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and not source.imported(node.func):
        return node.func.value
    return node.args[0] if node.args else None


def last_part(case: Case, producer: Producer) -> str:
    """`.mean(axis=1)` of a long chain; the whole of everything else, on one line."""
    node, source = case.node(producer), case.source(producer.place)
    if node is None or source is None:
        return producer.text
    inside, whole = receiver(source, node), source.segment(node)
    before = source.segment(inside) if inside is not None else ""
    follows = bool(before) and whole.startswith(before)
    return " ".join((whole.removeprefix(before) if follows else whole).split())


def without_last_part(case: Case, producer: Producer) -> str:
    """What is left of an expression without its last operation."""
    node, source = case.node(producer), case.source(producer.place)
    inside = receiver(source, node) if source is not None and node is not None else None
    if source is None or inside is None:
        return producer.text
    text = source.segment(inside)
    return text if isinstance(inside, BINDS_TIGHTLY) else f"({text})"
