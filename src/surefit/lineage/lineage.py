"""Queries on a lineage."""

from dataclasses import dataclass

from surefit.doctor.observations import Crash, Question
from surefit.doctor.recording import Recording
from surefit.lineage.producers import Producer
from surefit.lineage.properties import Property

KIND = "lineage"


@dataclass(frozen=True, slots=True)
class Lineage:
    """Nothing is known yet."""

    producers: tuple[Producer, ...] = ()
    ended: str = ""

    def birth(self, of: Property) -> Producer | None:
        return next((known for known in self.producers if of.holds(known.value)), None)

    def role(self) -> Producer | None:
        return next(iter(self.producers), None)

    def handed_over(self) -> Producer | None:
        return next(iter(self.producers), None)


NO_LINEAGE = Lineage()


def question_about(crash: Crash) -> Question:
    return Question(KIND, crash.id, {})


def lineage_of(recording: Recording, crash: Crash, value: tuple[int, str]) -> Lineage | None:
    del recording, crash, value
    return None
