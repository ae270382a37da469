"""Class numbers are selected, shifted or mapped, and never computed from each other."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.findings import Fact
from surefit.doctor.measures.class_maps import ClassMaps, ResampledMaps
from surefit.doctor.observations import CallSite
from surefit.doctor.recording import Recording
from surefit.doctor.violations import Expression
from surefit.laws.case import Case
from surefit.laws.law import BrokenLaw, Law, MeasuredOn
from surefit.laws.losses.loss_sources import call_at

LAW = Law("class_maps", "class numbers of targets are selected, never blended")

FEWEST_ROWS = 2
PROOF_STEPS = 3
MOST_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassesBlended(BrokenLaw):
    """A map of classes was resampled to numbers between them, and is the target of a loss."""

    maps: ResampledMaps
    rows: int
    """Of the targets that were looked at."""


def violations_of(case: Case) -> Iterator[ClassesBlended]:
    every = list(case.recording.all(ClassMaps))
    targets = {known for measure in every for known in measure.targets}
    told: set[CallSite] = set()
    for measure in every:
        for maps in measure.resampled:
            rows = len(targets & set(maps.prints))
            if rows >= FEWEST_ROWS and maps.call not in told:
                told.add(maps.call)
                yield blended(case, maps, rows)


def blended(case: Case, maps: ResampledMaps, rows: int) -> ClassesBlended:
    source = case.source(maps.call.place)
    call = call_at(source, maps.call) if source is not None else None
    use = Expression(maps.call.place)
    if source is not None and call is not None:
        use = case.expression(source, call)
    return ClassesBlended(
        use=use,
        said=f"`{maps.function}` computes class numbers between those of its input:"
        f" {maps.share:.1%} of the elements of a target are a mean of other classes.",
        facts=(
            Fact("classes of a map", listed(maps.classes)),
            Fact("new ones, once it is resampled", listed(maps.others)),
            Fact("targets of the loss", "are such maps, by how often they have each class"),
        ),
        steps=PROOF_STEPS,
        fault=f"{LAW.name} {use.place}",
        maps=maps,
        rows=rows,
    )


def listed(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, numbers[:MOST_SHOWN]))
    return f"{shown} ..." if len(numbers) > MOST_SHOWN else shown


def watched(recording: Recording) -> MeasuredOn:
    losses = [measure.loss for measure in recording.all(ClassMaps) if measure.looked]
    if not losses:
        return MeasuredOn(why_not="no loss had a class for each position as its target")
    return MeasuredOn(on=f"targets of `{losses[0]}`")
