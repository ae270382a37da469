"""Weights of classes that were computed from the numbers of their rows, and belong to others."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil, log, sqrt

from surefit.doctor.findings import Fact
from surefit.doctor.measures.loss_inputs import LossSite
from surefit.doctor.words import code, counted
from surefit.laws.case import Case
from surefit.laws.losses.loss_calls import WrittenLoss, loss_call_at
from surefit.laws.losses.loss_law import measures
from surefit.laws.losses.loss_predictions import OfLossSite, broken
from surefit.laws.losses.loss_sources import Entering
from surefit.source.reading import Source, called

FEWEST_ROWS = 8
"""Targets of the rarest class."""
SURE = 3
"""Times as many that a proof waits for."""
UNEVEN = 1.3
"""Times as many rows, or as much weight, from which two classes differ."""
ERRORS, ROUNDING = 3.0, 0.02
"""Standard errors of a number of rows, and what is left of a formula beside them."""
POWERS = (1.0, 0.5)
"""Of the number of rows, that weights are inverse to."""
MOST_SHOWN = 6
COUNTING = frozenset(
    ("value_counts", "Counter", "most_common", "bincount", "unique", "groupby", "size", "sum")
    + ("histc", "len", "count", "mean")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsOfOtherClasses(OfLossSite):
    """What each class weighs is what another one should: the order is not that of the classes."""

    inverted: bool
    """They grow with the number of rows, instead."""


def weights_of_other_classes(case: Case) -> Iterator[WeightsOfOtherClasses]:
    for measure in measures(case.recording):
        for site in measure.sites:
            rows, weights = site.class_rows, site.class_weights
            if site.place is None or len(rows) != len(weights) or not are_compared(rows, weights):
                continue
            grows, moved = grows_with_rows(rows, weights), is_in_other_order(rows, weights)
            if (grows or moved) and is_counted(loss_call_at(case, site.place, site.name)):
                yield of_other_classes(case, site, grows)


def of_other_classes(case: Case, site: LossSite, grows: bool) -> WeightsOfOtherClasses:
    rows, weights = site.class_rows, site.class_weights
    heaviest = max(range(len(rows)), key=weights.__getitem__)
    rarest = min(range(len(rows)), key=rows.__getitem__)
    how = (
        "grow with the numbers of rows"
        if grows
        else "are inverse to numbers of rows, in another order than that of the classes"
    )
    said = (
        f"The class weights {how}: class {heaviest} ({rows[heaviest]:,} of {sum(rows):,} targets"
        f" looked at) has the greatest, {weights[heaviest]:.4g}, and the rarest class, {rarest}"
        f" ({rows[rarest]:,}), has {weights[rarest]:.4g}."
    )
    facts = [
        Fact(f"class {number}", f"{counted(count, 'target')}, weight {weight:.4g}")
        for number, (count, weight) in enumerate(zip(rows, weights, strict=True))
    ]
    given = Fact(code(site.name), f"{counted(len(rows), 'class')} with weights")
    shown = facts if len(facts) <= MOST_SHOWN else [given]
    steps = ceil(SURE * FEWEST_ROWS * site.looked / min(rows))
    return WeightsOfOtherClasses(
        **broken(site, case.recording, said, *shown) | {"steps": steps},  # type: ignore[arg-type]
        inverted=grows,
    )


def are_compared(rows: Sequence[int], weights: Sequence[float]) -> bool:
    return (
        len(rows) > 1
        and min(rows) >= FEWEST_ROWS
        and min(weights) > 0
        and any(is_discordant(*pair) for pair in combinations(zip(rows, weights, strict=True), 2))
    )


def is_discordant(first: tuple[int, float], second: tuple[int, float]) -> bool:
    """The class with more rows has the greater weight, by far."""
    (few, light), (many, heavy) = sorted((first, second))
    return many > UNEVEN * few and heavy > UNEVEN * light


def is_in_other_order(rows: Sequence[int], weights: Sequence[float]) -> bool:
    """The greatest weight would be right for the class with fewest rows, and so on."""
    return any(are_inverse(sorted(rows), sorted(weights)[::-1], power) for power in POWERS)


def grows_with_rows(rows: Sequence[int], weights: Sequence[float]) -> bool:
    return any(are_inverse(rows, [1 / weight for weight in weights], power) for power in POWERS)


def are_inverse(rows: Sequence[int], weights: Sequence[float], power: float) -> bool:
    """To what a sample can tell: `weight * rows ** power` is the same for all."""
    total = sum(rows)
    products = [
        log(weight) + power * log(count) for count, weight in zip(rows, weights, strict=True)
    ]
    center = sum(product * count for product, count in zip(products, rows, strict=True)) / total
    return all(
        abs(product - center) <= ERRORS * power / sqrt(count) + ROUNDING
        for product, count in zip(products, rows, strict=True)
    )


def is_counted(loss: WrittenLoss | None) -> bool:
    """The weights are computed from numbers of rows."""
    return loss is not None and any(called(call) in COUNTING for call in counting_calls(loss))


def counting_calls(loss: WrittenLoss) -> list[ast.Call]:
    """All calls that the weights come from."""
    weight = weight_given(loss)
    entering = Entering(loss.source, lambda _: False)
    entering.follow(weight)
    return [node for node in entering.nodes if isinstance(node, ast.Call)]


def weight_given(loss: WrittenLoss) -> ast.expr | None:
    return given(loss.source, loss.made) or given(loss.source, loss.call)


def given(source: Source, call: ast.Call) -> ast.expr | None:
    position = 0 if called(call) in ("CrossEntropyLoss", "NLLLoss") else None
    return source.argument(call, "weight", position) or source.argument(call, "pos_weight")
