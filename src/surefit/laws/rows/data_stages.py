"""The expressions that data came through on the way to a model, and where two such ways part."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from surefit.doctor.measures.phase_inputs import PhaseInput
from surefit.doctor.observations import Value
from surefit.laws.case import Case
from surefit.lineage.lineage import Lineage
from surefit.lineage.producers import Producer, ProducerKind, Way
from surefit.source.reading import Source

MOST_STAGES = 400
MOST_APART = 0.35
"""Of the width of a range, up to which its ends differ from those of one like it."""
WIDEST = 2.0
LEAST_COLUMNS = 1_000
"""Elements of a column of a table, whose length is not told."""


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """An expression of the user's that data came through."""

    source: Source
    node: ast.expr
    producer: Producer

    @property
    def key(self) -> tuple[str, int, int, int, int]:
        node = self.node
        ends = node.end_lineno or 0, node.end_col_offset or 0
        return self.source.file, node.lineno, node.col_offset, *ends

    @property
    def text(self) -> str:
        return self.source.segment(self.node)

    @property
    def passes_on(self) -> bool:
        return isinstance(self.node, ast.Name | ast.Attribute)

    def is_inside(self, outer: "Stage") -> bool:
        return (
            self is not outer
            and self.node is not outer.node
            and outer.node in (self.source.up(self.node))
        )


def stages(case: Case, lineage: Lineage) -> list[Stage]:
    """Newest first: along what holds most elements, each expression once."""
    found: dict[tuple[str, int, int, int, int], Stage] = {}
    for producer in data_way(lineage):
        source, node = case.source(producer.place), case.node(producer)
        if source is not None and node is not None and producer.own:
            stage = Stage(source, node, producer)
            found.setdefault(stage.key, stage)
    return list(found.values())


def data_way(lineage: Lineage) -> Iterator[Producer]:
    roots = [lineage.graph[root.serial] for root in lineage.root if root.serial in lineage.graph]
    at, met = roots[0] if roots else None, set[int]()
    while at is not None and at.serial not in met and len(met) < MOST_STAGES:
        met.add(at.serial)
        yield at
        at = data_input(lineage, at)


def data_input(lineage: Lineage, producer: Producer) -> Producer | None:
    """The input with most elements; where the user's own function gave the value, what that
    returned."""
    inputs = [
        (link, before)
        for link, before in lineage.inputs(producer)
        if before.kind is not ProducerKind.LITERAL
    ]
    returned = [before for link, before in inputs if link.way in (Way.RETURNED, Way.MUTATED)]
    holding = [before for _, before in inputs if elements(before.value)]
    candidates = returned or holding
    return max(candidates, key=lambda before: elements(before.value), default=None)


def elements(value: Value) -> int:
    if value.shape is not None:
        return prod(value.shape)
    columns = sum(elements(member) or LEAST_COLUMNS for member in value.members.values())
    return columns or value.length or 0


@dataclass(frozen=True, slots=True)
class PartedWays:
    """Two ways of data, and the expressions of each that the other does not have."""

    trained: PhaseInput
    evaluated: PhaseInput
    training: Sequence[Stage]
    evaluation: Sequence[Stage]
    handed_over: Stage | None = None
    """What the user's own line gives to the model in evaluation."""

    @property
    def only_training(self) -> list[Stage]:
        return apart(self.training, self.evaluation)

    @property
    def only_evaluation(self) -> list[Stage]:
        return apart(self.evaluation, self.training)

    def like_training(self, value: Value) -> float | None:
        return unlike(value, self.trained)

    def like_evaluation(self, value: Value) -> float | None:
        return unlike(value, self.evaluated)


def apart(ways: Sequence[Stage], others: Sequence[Stage]) -> list[Stage]:
    known = {stage.key for stage in others}
    return [stage for stage in ways if stage.key not in known]


def outermost(ways: Sequence[Stage]) -> list[Stage]:
    """Of expressions inside each other the whole; names are left out."""
    whole = [stage for stage in ways if not stage.passes_on]
    return [stage for stage in whole if not any(stage.is_inside(outer) for outer in whole)]


def inside(outer: Stage, ways: Sequence[Stage]) -> list[Stage]:
    """Parts of an expression that the data came through, the largest first."""
    return [stage for stage in ways if stage.is_inside(outer)]


def unlike(value: Value, known: PhaseInput) -> float | None:
    """How far the range of a value is from that of an input, in widths of that; None where it is
    too far, or not known."""
    if value.least is None or value.greatest is None or not known.features:
        return None
    least = min(feature.least for feature in known.features)
    greatest = max(feature.greatest for feature in known.features)
    width = greatest - least
    if not width or not width / WIDEST < value.greatest - value.least < width * WIDEST:
        return None
    far = max(abs(value.least - least), abs(value.greatest - greatest)) / width
    return far if far < MOST_APART else None


def best_of(parts: Sequence[tuple[Stage, float | None]]) -> Stage | None:
    """The innermost that is near, with what only selects from it: `x[:400]` before `x`."""
    best: Stage | None = None
    for stage, far in reversed(parts):
        if best is None:
            best = stage if far is not None else None
        elif is_selection_of(stage.node, best.node):
            best = stage
    return best


def is_selection_of(node: ast.expr, inner: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and node.value is inner


def is_selection(stage: Stage) -> bool:
    """It picks rows, by a slice or by an index that has one."""
    return isinstance(stage.node, ast.Subscript)
