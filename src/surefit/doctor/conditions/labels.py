"""Labels reach the model, as many as the rows hold."""

from collections.abc import Iterator
from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.conditions.re_executed import ReExecuted
from surefit.doctor.observations import LabelsSeen
from surefit.doctor.progress import final_steps, first_crash, steps_before_the_fault
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted


@dataclass(frozen=True, slots=True)
class LabelsReachModel:
    """The batch of the fault reaches the model with as many supervised labels as its rows hold."""

    expected: int
    rows: int
    at: int | None = None
    """Optimizer steps before that batch; None: as many as there were before the crash."""

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs()

    def judge(self, before: Recording, after: Recording) -> Judgement:
        crash = first_crash(before)
        at = steps_before_the_fault(before) if self.at is None else self.at
        rank = crash.process.rank if crash else None
        given = calls_at(after, at, rank)[self.calls_before(calls_at(before, at, rank)) :]
        if not given:
            seen = any(steps.labels for steps in final_steps(after))
            return Judgement(False, f"no labels reached the model after step {at:,}", seen)
        same_rows = [call for call in given if call.shape[:1] == (self.rows,)] or given
        call = next((one for one in same_rows if self.is_it(one)), same_rows[0])
        wanted = counted(self.expected, "label")
        if self.is_it(call):
            return Judgement(
                True, f"{wanted} of {counted(self.rows, 'row')} reach the model, all that there are"
            )
        reached = f"{counted(call.supervised, 'label')} of {counted(call.shape[0], 'row')} reach"
        return Judgement(
            False, f"{reached} the model, and {counted(self.rows, 'row')} hold {wanted}"
        )

    def is_it(self, call: LabelsSeen) -> bool:
        return call.supervised == self.expected and call.shape[:1] == (self.rows,)

    def calls_before(self, calls: list[LabelsSeen]) -> int:
        """At the step of the fault, where several batches make a step; the batch itself, if the
        model was what failed, is none of them."""
        return len(calls) - 1 if calls and self.is_it(calls[-1]) else len(calls)


@dataclass(frozen=True, slots=True)
class LabelsArrive:
    """In a run all labels reach the model; where it is given none, or there is no run, another
    collator makes as many of the very rows."""

    in_a_run: LabelsReachModel
    of_these_rows: ReExecuted

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(no_run=True)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        if after is not before:
            judged = self.in_a_run.judge(before, after)
            if judged.decided:
                return judged
        return self.of_these_rows.judge(before, after)


def calls_at(seen: Recording, step: int, rank: int | None) -> list[LabelsSeen]:
    return [call for steps in final_steps(seen, rank) for call in steps.labels if call.step == step]


@dataclass(frozen=True, slots=True)
class LabelsAreNumbered:
    """The batch of the fault reaches the model or the loss with an integer for each row, and these
    add up to what the names of its classes do."""

    rows: int
    total: int
    ways: int = 1
    """How many classes the numbers tell apart."""

    def needs(self, before: Recording) -> Needs:
        return Needs(steps=steps_before_the_fault(before) + 2)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        at = steps_before_the_fault(before)
        came = [total for step, total in self.arrived(after) if step >= at]
        if not came:
            return Judgement(
                False, f"no labels of {self.rows} rows were seen after step {at:,}", False
            )
        if self.total in came:
            said = f"{counted(self.rows, 'label')} arrive as integers, a number for each of"
            return Judgement(
                True, f"{said} {counted(self.ways, 'class')}: they add up to {self.total}"
            )
        return Judgement(False, f"labels arrive that add up to {came[0]:g}, not to {self.total}")

    def arrived(self, after: Recording) -> Iterator[tuple[int, float]]:
        """Steps before labels of so many rows, and their sum."""
        for steps in final_steps(after):
            for call in steps.inputs:
                for name, total in call.totals.items():
                    if "label" in name and call.shapes[name] == (self.rows,):
                        yield call.step, total
            for loss in steps.loss_calls:
                for given in loss.each:
                    if given.target_shape == (self.rows,) and "int" in given.target_dtype:
                        yield given.step, given.total
