"""An array is read in place from its file, and memory suffices."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.findings import Place
from surefit.doctor.observations import Crash, Passed, Watchpoint
from surefit.doctor.recording import Recording
from surefit.doctor.words import shape_of


@dataclass(frozen=True, slots=True)
class ReadInPlace:
    """After the statement the name is an array on disk, with all that the file's header says; and
    the patched run does not run out of memory."""

    place: Place
    name: str
    shape: tuple[int, ...]
    dtype: str
    changes_the_past: bool = False

    @property
    def watchpoint(self) -> Watchpoint:
        return Watchpoint(Place(self.place.file, self.place.line), (self.name,), after=True)

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(changes_the_past=self.changes_the_past, watchpoints=(self.watchpoint,))

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        if any(crash.memory is not None for crash in after.all(Crash)):
            return Judgement(False, "memory ran out again")
        came = [one for one in after.all(Passed) if one.watched == self.watchpoint]
        values = [value for one in came for value in one.values if value.text == self.name]
        if not values:
            return Judgement(False, f"`{self.name}` could not be read at {self.place}", False)
        value = values[0]
        if not value.file:
            return Judgement(False, f"`{self.name}` lies in memory")
        if (value.shape, value.dtype) != (self.shape, self.dtype):
            return Judgement(False, f"`{self.name}` is {value.dtype} {shape_of(value.shape or ())}")
        whole = f"{self.dtype} {shape_of(self.shape)}, as the file's header says"
        return Judgement(True, f"`{self.name}` is read in place: {whole}")
