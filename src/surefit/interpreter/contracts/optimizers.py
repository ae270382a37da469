"""Steps of an optimizer that will move nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Place
from surefit.doctor.violations import Violation
from surefit.interpreter.values import LayerValue
from surefit.interpreter.violations import Site
from surefit.interpreter.wording import describe_layer, line_at, place_of, text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsRounded(Violation):
    """An optimizer holds parameters of a dtype that is too coarse for its steps."""

    optimizer: str
    """The line that creates it."""
    kind: str
    dtype: str
    rate: float
    cast_at: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingHeldLearns(Violation):
    """An optimizer steps whose layers get no gradient; those that get one no optimizer holds."""

    optimizer: str
    created_at: Place
    stepped: str
    """The line."""
    layer: str
    """The first of the layers that get a gradient; `layers`: how many there are."""
    layer_at: Place
    layers: int


def updates_rounded(at: Site, kind: str, dtype: str, rate: float) -> Iterator[StepsRounded]:
    line, cast_at = line_at(at.source, at.node), place_of(at.source, at.birth)
    yield StepsRounded(
        use=at.use, optimizer=line, kind=kind, dtype=dtype, rate=rate, cast_at=cast_at
    )


def nothing_held_learns(at: Site, outside: tuple[LayerValue, ...]) -> Iterator[NothingHeldLearns]:
    yield NothingHeldLearns(
        use=at.use,
        optimizer=text_of(at.source, at.birth),
        created_at=place_of(at.source, at.birth),
        stepped=line_at(at.source, at.node),
        layer=describe_layer(outside[0]),
        layer_at=place_of(at.source, outside[0].node),
        layers=len(outside),
    )
