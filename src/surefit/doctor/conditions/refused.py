"""No process is refused while it imports the script."""

from dataclasses import dataclass

from surefit.doctor.causes import is_refused
from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.observations import Crash
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted


@dataclass(frozen=True, slots=True)
class NoProcessRefused:
    """Processes are started by the main process alone, and none of them is refused."""

    changes_the_past: bool = False
    steps: int | None = None

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(steps=self.steps, changes_the_past=self.changes_the_past)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        were, are = times_refused(before), times_refused(after)
        if are:
            return Judgement(False, f"{counted(are, 'process')} were refused again")
        return Judgement(True, f"{counted(were, 'process')} refused before, none in the copy")


def times_refused(seen: Recording) -> int:
    return sum(is_refused(crash) for crash in seen.all(Crash))
