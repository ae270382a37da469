"""A single number at a line of the user's is, in the patched run, within bounds."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.findings import Place
from surefit.doctor.observations import Passed, Value, Watchpoint
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted


@dataclass(frozen=True, slots=True)
class NumberAt:
    """Each time that a statement has run, a name of it is a number within bounds."""

    place: Place
    name: str
    least: float
    greatest: float
    changes_the_past: bool = False
    steps: int | None = None

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), (self.name,), after=True)

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(
            steps=self.steps, changes_the_past=self.changes_the_past, watchpoints=(self.watchpoint,)
        )

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        came = [one for one in after.all(Passed) if one.watched == self.watchpoint]
        numbers = [number_in(value) for one in came for value in one.values]
        known = [one for one in numbers if one is not None]
        if not known or len(known) != len(numbers):
            return Judgement(False, f"{code(self.name)} was not seen at {self.place}", False)
        low, high = min(known), max(known)
        held = self.least <= low and high <= self.greatest
        shown = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
        times = counted(len(known), "time")
        bounds = f"between {self.least:g} and {self.greatest:g}"
        said = f"{code(self.name)} is {shown} at {self.place}, {times}"
        return Judgement(held, f"{said}: {bounds}" if held else f"{said}, not {bounds}")


def number_in(value: Value) -> float | None:
    if isinstance(value.scalar, int | float):
        return float(value.scalar)
    single = value.shape is not None and value.least is not None and value.least == value.greatest
    return value.least if single else None
