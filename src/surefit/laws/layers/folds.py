"""The reshape after which a tensor had more rows than the batch, and what it was given."""

import ast
from dataclasses import dataclass
from functools import cached_property
from math import prod

from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Input, Producer, ProducerKind, Way
from surefit.lineage.ways import (
    PARAMETER,
    RESHAPES,
    history,
    operation,
    shape,
    taken,
    users,
    way,
)

POOLS = ("avg_pool", "max_pool")
KEEP_POSITIONS = (
    *("relu", "relu_", "leaky_relu", "gelu", "silu", "elu", "tanh", "sigmoid", "dropout"),
    *("dropout2d", "batch_norm", "contiguous"),
)
"""Operations after which a map has as many positions as before."""
SEQUENCE = 3
"""Axes of rows, steps and features."""
ROWS_AND_FEATURES = 2


@dataclass(frozen=True)
class Fold:
    """Rows of plain numbers, made of something with more axes and fewer rows."""

    lineage: Lineage
    path: tuple[Producer, ...]
    """From the value with too many rows to the reshape, newest first."""
    given: Producer
    """What was reshaped."""

    @property
    def producer(self) -> Producer:
        return self.path[-1]

    @cached_property
    def use(self) -> Producer:
        """The user's expression that reshapes."""
        return users(list(self.path), self.producer)

    @property
    def before(self) -> tuple[int, ...]:
        return shape(self.given)

    @property
    def after(self) -> tuple[int, ...]:
        return shape(self.producer)

    @property
    def width(self) -> int:
        return self.after[-1]

    @property
    def is_sequence(self) -> bool:
        """Rows, steps and features, of which the features stay together."""
        return len(self.before) == SEQUENCE and self.before[-1] == self.width

    def extra(self, positions: int) -> tuple[int, ...]:
        """The axes that went into the batch, where they are just as many."""
        sides = self.before[1:2] if self.is_sequence else self.before[2:]
        return sides if prod(sides) == positions else (positions,)

    @property
    def lineage_before(self) -> Lineage:
        root = Input(serial=self.given.serial, way=Way.SAME_OBJECT)
        return Lineage(self.lineage.graph, (root,))

    @property
    def from_layers(self) -> bool:
        """Layers computed it; otherwise it is the data themselves."""
        return any(known.value.kind == PARAMETER for known in self.lineage_before.all)

    @cached_property
    def source(self) -> Producer | None:
        """The user's expression that gave what was reshaped, on another line."""
        known = [at for at in self.lineage_before.producers if shape(at) == self.before]
        first = known[0] if known else None
        return first if first is not None and first.place.line != self.use.place.line else None

    @cached_property
    def pooling(self) -> Producer | None:
        """The user's call that pooled last, while the number of positions stayed."""
        user: Producer | None = None
        for at in way(self.lineage, self._with_as_many_positions, self.given):
            user = at if at.own and at.kind is ProducerKind.CALL else user
            if operation(at).startswith(POOLS):
                return user
        return None

    def _with_as_many_positions(self, at: Producer) -> list[Producer]:
        through = operation(at) in KEEP_POSITIONS or at.kind is not ProducerKind.OPERATION
        before = taken(self.lineage, at) if through else []
        return [inner for inner in before if shape(inner) and shape(inner) == self.before]

    def receiver(self, case: Case) -> Expression | None:
        """The user's expression for what is reshaped."""
        node, source = case.node(self.use), case.source(self.use.place)
        if source is None or not isinstance(node, ast.Call):
            return None
        func = node.func
        inner = func.value if isinstance(func, ast.Attribute) else None
        if inner is not None and ast.unparse(inner) == "torch":
            inner = node.args[0] if node.args else None
        return case.expression(source, inner) if inner is not None else None


def fold_of(lineage: Lineage, size: int, rows: int) -> Fold | None:
    """Back from a tensor with `size` rows, to the reshape that was given `rows`."""
    path = history(lineage, size)
    for number, producer in enumerate(path):
        after = shape(producer)
        if operation(producer) not in RESHAPES or len(after) != ROWS_AND_FEATURES:
            continue
        given = [inner for inner in taken(lineage, producer) if len(shape(inner)) >= SEQUENCE]
        if after[0] == size and given and shape(given[0])[0] == rows:
            return Fold(lineage, tuple(path[: number + 1]), given[0])
    return None
