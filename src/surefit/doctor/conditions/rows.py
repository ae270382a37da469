"""Rows reach the user's loop or the model, as many as there are to use."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.findings import Place
from surefit.doctor.observations import Ended, Passed, Value, Watchpoint
from surefit.doctor.progress import final_steps, steps_before_the_fault
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted


@dataclass(frozen=True, slots=True)
class RowsArrive:
    """The batch of the fault arrives with exactly so many rows, and no batch without any."""

    rows: int
    place: Place | None
    """The statement at which it arrives; None where the loop is a library's: then labels that the
    model is given are counted."""
    names: tuple[str, ...] = ()
    after: bool = False
    changes_the_past: bool = False
    at: int | None = None
    """Optimizer steps before it; None: as many as there were."""
    epoch: tuple[int, int] | None = None
    """Rows of the dataset, and batches that an epoch has, where these can be counted cheaply."""

    def steps_needed(self, before: Recording) -> int | None:
        """An epoch, if it costs little."""
        if self.epoch is None:
            return None
        at = steps_before_the_fault(before)
        more = self.epoch[1] - at
        return (
            self.epoch[1]
            if 0 < more <= MOST_MORE and seconds_for(more, before) < MOST_SECONDS
            else None
        )

    @property
    def watchpoint(self) -> Watchpoint | None:
        if self.place is None:
            return None
        return Watchpoint(Place(self.place.file, self.place.line), self.names, self.after)

    def needs(self, before: Recording) -> Needs:
        return Needs(
            steps=self.steps_needed(before),
            changes_the_past=self.changes_the_past,
            watchpoints=(self.watchpoint,) if self.watchpoint else (),
        )

    def judge(self, before: Recording, after: Recording) -> Judgement:
        at = steps_before_the_fault(before) if self.at is None else self.at
        came = [(step, rows) for step, rows in self.arrived(after) if step >= at]
        if not came:
            return Judgement(False, f"no batch was seen to arrive after step {at:,}", False)
        if any(rows == 0 for _, rows in came):
            return Judgement(False, "a batch arrives without any row")
        here = [rows for step, rows in came if step == came[0][0]]
        wanted = counted(self.rows, "row")
        if self.rows not in here:
            return Judgement(False, f"{counted(here[0], 'row')} arrive, and {wanted} can be used")
        batches = f" in the first of {counted(len(came), 'batch')}" if len(came) > 1 else ""
        said = f"{wanted} arrive{batches}, all that can be used{self.lost_in_all(after)}"
        return Judgement(True, said)

    def lost_in_all(self, after: Recording) -> str:
        """Of the whole dataset, where every batch of the first epoch was seen."""
        every = [rows for _, rows in self.arrived(after)]
        if self.epoch is None or len(every) < self.epoch[1]:
            return ""
        total, count = self.epoch[0], sum(every[: self.epoch[1]])
        rows = counted(total, "row")
        return f"; {count:,} of the {rows} arrive in an epoch, {total - count:,} are lost"

    def arrived(self, after: Recording) -> Iterator[tuple[int, int]]:
        """Steps before a batch, and its rows."""
        if self.watchpoint is None:
            for steps in final_steps(after):
                yield from ((one.step, one.shape[0]) for one in steps.labels if one.shape)
            return
        for one in after.all(Passed):
            rows = first_size(one.values) if one.watched == self.watchpoint else None
            if rows is not None:
                yield one.step, rows


def first_size(values: tuple[Value, ...]) -> int | None:
    """Of the first axis of the first tensor or list among some values, or inside one of them."""
    for value in values:
        if value.shape:
            return value.shape[0]
        inside = [one.shape[0] for one in value.members.values() if one.shape]
        if value.kind not in SEQUENCES:
            inside += [one.length or 0 for one in value.members.values() if one.kind in SEQUENCES]
        if inside:
            return inside[0]
    return next((one.length for one in values if one.kind in SEQUENCES), None)


SEQUENCES = ("list", "tuple")
MOST_MORE, MOST_SECONDS = 60, 10.0
"""Steps beyond the fault, and the time that they take, which are still cheap."""


def seconds_for(steps: int, before: Recording) -> float:
    """By the steps of the first run; without two of them, by all of its time."""
    known = [one for one in final_steps(before) if one.steps > 1]
    if known:
        return max(one.seconds / (one.steps - 1) for one in known) * steps
    return max((one.seconds for one in before.all(Ended)), default=MOST_SECONDS) * steps / MOST_MORE
