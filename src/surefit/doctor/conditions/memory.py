"""Memory suffices in the patched run."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.observations import Crash, Ended
from surefit.doctor.recording import Recording
from surefit.doctor.words import bytes_of


@dataclass(frozen=True, slots=True)
class PassesInLess:
    """The patched run does not run out of memory, and has less in use at its peak."""

    changes_the_past: bool = False

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(changes_the_past=self.changes_the_past)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        failed = [crash for crash in after.all(Crash) if crash.memory is not None]
        was, now = peak(before), peak(after)
        if failed or was is None or now is None:
            return Judgement(False, "memory ran out again" if failed else "no peak was measured")
        said = f"at most {bytes_of(now)} in use, {bytes_of(was)} in the first run"
        return Judgement(now < was, said)


def peak(recording: Recording) -> int | None:
    return max((ended.peak for ended in recording.all(Ended) if ended.peak), default=None)
