"""What PEFT takes: names of layers that the model has."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from surefit.doctor.observations import Value
from surefit.doctor.violations import Operand, Violation, Written
from surefit.laws.case import Case, use_of
from surefit.lineage.producers import Producer, ProducerKind

PEFT = "peft/"
ADAPTED = ("Linear", "Conv1D")
TARGETS = "target_modules"


@dataclass(frozen=True, slots=True)
class AskedTargets:
    """What was asked for, and what there is."""

    probe: ClassVar[str] = "adapter-targets"

    model: str
    type: str = ""
    targets: tuple[str, ...] | str | None = None
    layers: dict[str, dict[str, int]] = field(default_factory=dict)
    """The last part of a layer's name -> its class -> how many there are."""
    usual: tuple[str, ...] = ()
    """PEFT's own choice for such a model."""

    @property
    def asked(self) -> tuple[str, ...]:
        return (self.targets,) if isinstance(self.targets, str) else tuple(self.targets or ())

    @property
    def adaptable(self) -> dict[str, dict[str, int]]:
        """Layers that PEFT can adapt."""
        known = {
            name: {kind: count for kind, count in kinds.items() if kind in ADAPTED}
            for name, kinds in self.layers.items()
        }
        return {name: kinds for name, kinds in known.items() if kinds}

    @property
    def matched(self) -> bool:
        """Some name is that of a layer; a pattern is PEFT's own affair."""
        if isinstance(self.targets, str):
            return self.targets == "all-linear"
        return bool({name.rpartition(".")[2] for name in self.asked} & self.layers.keys())


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsWithoutLayers(Violation):
    """No layer of the model has one of the names that adapters were asked for."""

    targets: AskedTargets
    config: Written | None = None
    """The user's call that creates the configuration."""
    names: Written | None = None
    """The list of names, where it is an argument of that call, or written elsewhere."""


def violations_of(case: Case) -> Iterator[Violation]:
    if case.own is None or not any(PEFT in frame.place.file for frame in case.frames):
        return
    targets = case.ask(AskedTargets)
    if targets is None or targets.matched:
        return
    config, names = configuration(case)
    yield TargetsWithoutLayers(use=use_of(case.own), targets=targets, config=config, names=names)


def configuration(case: Case) -> tuple[Producer | None, Producer | None]:
    """The call that created the configuration, and what it was given as names."""
    for number, frame in reversed(list(enumerate(case.frames))):
        for value in frame.values if frame.own else ():
            if not value.kind.endswith("Config"):
                continue
            operand = Operand(value=Value(value.text, value.kind), name="", frame=number)
            lineage = case.lineage(operand)
            made = lineage.constructor()
            if made is not None:
                return made.call, names_in(lineage.all, made.arguments.get(TARGETS))
    return None, None


def names_in(all_producers: tuple[Producer, ...], given: Producer | None) -> Producer | None:
    """The list itself, wherever it is written."""
    if given is None or given.kind in (ProducerKind.DISPLAY, ProducerKind.COMPREHENSION):
        return given
    same = [
        producer
        for producer in all_producers
        if producer.kind in (ProducerKind.DISPLAY, ProducerKind.COMPREHENSION, ProducerKind.CALL)
        and producer.value.identity == given.value.identity != 0
    ]
    return same[-1] if same else given
