"""What a fix must achieve, in numbers. That the error went away is not among them.

A proof run looks at every step, the first run at a sample: figures of the two are never compared.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Protocol

from surefit.doctor.findings import Place
from surefit.doctor.observations import (
    Answer,
    LabelsSeen,
    ParameterSeen,
    Question,
    Steps,
    Swallowed,
)
from surefit.doctor.progress import final_steps, first_crash, steps_before
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, spoken

MOST_NAMED = 3
USUAL_STEPS = 10


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a condition holds, with the figures."""

    held: bool
    said: str
    decided: bool = True
    """False where nothing was seen that could decide it."""


class Condition(Protocol):
    """Holds the observations of a patched run against those of the first run."""

    @property
    def changes_the_past(self) -> bool:
        """The fix must change what comes before the fault (another table size, fewer rows), so
        that losses before it need not be equal."""

    def wants(self, before: Recording) -> int | None:
        """How many optimizer steps it must see; None: as many as there were up to the fault."""

    def judge(self, before: Recording, after: Recording) -> Judgement: ...


@dataclass(frozen=True, slots=True)
class LabelsReachModel:
    """The batch of the fault reaches the model with as many supervised labels as its rows hold."""

    expected: int
    rows: int
    changes_the_past: bool = False
    steps: int | None = None
    """That it must see; otherwise as many as are usual."""
    at: int | None = None
    """Optimizer steps before that batch; None: as many as there were before the crash."""

    def wants(self, before: Recording) -> int | None:  # noqa: ARG002
        return self.steps

    def judge(self, before: Recording, after: Recording) -> Judgement:
        crash = first_crash(before)
        at = self.at if self.at is not None else steps_before(crash, before) if crash else 0
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
class Moves:
    """An optimizer holds these parameters, and its steps change them."""

    names: tuple[str, ...]
    share: float = 0.5
    """Of the elements that have a gradient, at least so many change."""
    changes_the_past: bool = False
    steps: int | None = None

    def wants(self, before: Recording) -> int | None:
        """Beyond the steps of optimizers that had done their work before these were made."""
        earlier = max((steps_of_earlier(self.names, one) for one in final_steps(before)), default=0)
        return (self.steps or USUAL_STEPS) + earlier if earlier else self.steps

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        held = [one for one in parameters(after) if one.held_by is not None]
        outside = {one.name for steps in final_steps(after) for one in steps.outside}
        inside = {one.name for one in held} - outside
        missing = [name for name in self.names if name not in inside]
        if missing or not self.names:
            return Judgement(False, f"no optimizer holds {some(missing)}")
        ours = [one for one in held if one.name in self.names]
        still = [one.name for one in ours if one.sampled == 0 or self.stands_still(one)]
        sampled, moved = sum_of(ours)
        said = f"{moved:,} of {counted(sampled, 'element')} with a gradient moved"
        if still:
            return Judgement(False, f"{some(still)} stands still; {said}")
        return Judgement(True, f"an optimizer holds {some(self.names)}: {said}")

    def stands_still(self, one: ParameterSeen) -> bool:
        return one.sampled - one.unchanged < self.share * one.sampled


@dataclass(frozen=True, slots=True)
class GradientsFlow:
    """Where every gradient was exactly zero, some are not, at every step, and all are finite."""

    names: tuple[str, ...] = ()
    """Only these parameters; without any, all that an optimizer holds."""
    changes_the_past: bool = False
    steps: int | None = None

    def wants(self, before: Recording) -> int | None:  # noqa: ARG002
        return self.steps

    def judge(self, before: Recording, after: Recording) -> Judgement:
        alive = [one.name for one in self.ours(before) if one.absent + one.zero < one.looked]
        if alive:
            return Judgement(False, f"{some(alive)} had a gradient in the first run too")
        ours = self.ours(after)
        if not ours:
            return Judgement(False, "no gradient of a parameter was looked at", False)
        bad = [one.name for one in ours if one.not_finite]
        if bad:
            return Judgement(False, f"the gradient of {some(bad)} is not finite")
        flowing = [one for one in ours if one.absent + one.zero == 0]
        steps = counted(max(one.looked for one in ours), "step")
        said = f"{len(flowing):,} of {counted(len(ours), 'parameter')} have a gradient other than"
        return Judgement(bool(flowing), f"{said} zero at each of {steps}; before, none had")

    def ours(self, seen: Recording) -> list[ParameterSeen]:
        return [
            one
            for one in parameters(seen)
            if one.looked and (one.name in self.names if self.names else one.held_by is not None)
        ]


@dataclass(frozen=True, slots=True)
class NoUpdatesLost:
    """Fewer than this share of the elements that have a gradient stay as they were."""

    share: float
    changes_the_past: bool = False
    steps: int | None = None

    def wants(self, before: Recording) -> int | None:  # noqa: ARG002
        return self.steps

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        sampled, moved = sum_of(parameters(after))
        if not sampled:
            return Judgement(False, "no element with a gradient was seen at a step", False)
        lost = sampled - moved
        figures = f"{lost:,} of {counted(sampled, 'update')} are lost to rounding"
        return Judgement(
            lost < self.share * sampled,
            f"{figures}, {lost / sampled:.1%}; less than {self.share:.1%} is wanted",
        )


@dataclass(frozen=True, slots=True)
class EvaluationRuns:
    """A handler that caught what evaluation raised catches nothing, and the model is evaluated."""

    handler: Place
    entries: int
    """How often its `try` was entered in the first run."""
    changes_the_past: bool = False

    def wants(self, before: Recording) -> int | None:
        """Past the first time that it caught something."""
        caught = [one for one in before.all(Swallowed) if one.handler == self.handler]
        crashes = [crash for one in caught if (crash := before.crash(one.crash))]
        return min((steps_before(crash, before) + 2 for crash in crashes), default=None)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        lines = moved_to(self.handler, before, after)
        caught = [
            one
            for one in after.all(Swallowed)
            if one.handler.file == self.handler.file and one.handler.line in lines
        ]
        if caught:
            times = counted(sum(one.times for one in caught), "time")
            return Judgement(False, f"{self.handler} still catches, {times}: {caught[0].said}")
        calls = sum(evaluations(steps) for steps in final_steps(after))
        if not calls:
            return Judgement(False, "the model was not called in evaluation")
        return Judgement(
            True,
            f"nothing is caught at {self.handler}, where evaluation was tried"
            f" {counted(self.entries, 'time')} before; the model was called"
            f" {counted(calls, 'time')} in evaluation",
        )


@dataclass(frozen=True, slots=True)
class ReExecuted:
    """The failing call, made again on the captured input in its own process, gives equal values."""

    question: Question
    what: str
    """What was compared: "`labels.reshape(-1)` and `labels.contiguous().view(-1)`"."""
    changes_the_past: bool = False
    steps: int | None = None

    def wants(self, before: Recording) -> int | None:  # noqa: ARG002
        return self.steps

    def judge(self, before: Recording, after: Recording) -> Judgement:  # noqa: ARG002
        answer = next((a for a in before.all(Answer) if a.question == self.question), None)
        if answer is None or answer.said is None:
            why = answer.why_not if answer else "the process had ended"
            return Judgement(False, f"{self.what}: not compared: {why}", False)
        elements = answer.said.get("elements")
        count = elements if isinstance(elements, int) else 0
        equal = answer.said.get("equal") is True
        if equal and count:
            return Judgement(True, f"{self.what}: {counted(count, 'element')}, all equal")
        return Judgement(False, f"{self.what}: of {counted(count, 'element')} not all are equal")


@dataclass(frozen=True, slots=True)
class LabelsArrive:
    """In a run all labels reach the model; where it is given none, or there is no run, another
    collator makes as many of the very rows."""

    in_a_run: LabelsReachModel
    of_these_rows: ReExecuted

    @property
    def changes_the_past(self) -> bool:
        return self.in_a_run.changes_the_past

    def wants(self, before: Recording) -> int | None:
        return self.in_a_run.wants(before)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        if after is not before:
            judged = self.in_a_run.judge(before, after)
            if judged.decided:
                return judged
        return self.of_these_rows.judge(before, after)


@dataclass(frozen=True, slots=True)
class All:
    """Every one of several conditions."""

    conditions: tuple[Condition, ...]

    @property
    def changes_the_past(self) -> bool:
        return any(one.changes_the_past for one in self.conditions)

    def wants(self, before: Recording) -> int | None:
        wanted = (one.wants(before) for one in self.conditions)
        return max((steps for steps in wanted if steps is not None), default=None)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        judged = [one.judge(before, after) for one in self.conditions]
        failed = [one for one in judged if not one.held and one.decided]
        told = failed or [one for one in judged if not one.held] or judged
        held = bool(judged) and all(one.held for one in judged)
        decided = held or bool(failed)
        return Judgement(held, "; ".join(one.said for one in told), decided)


def needs_no_run(condition: Condition) -> bool:
    """Whether the answers of the first run decide it alone."""
    if isinstance(condition, All):
        return bool(condition.conditions) and all(map(needs_no_run, condition.conditions))
    return isinstance(condition, ReExecuted | LabelsArrive)


def parameters(seen: Recording) -> list[ParameterSeen]:
    return [one for steps in final_steps(seen) for one in steps.parameters]


def steps_of_earlier(names: Iterable[str], steps: Steps) -> int:
    """Steps taken by optimizers of an earlier stage: all that were made before parameters that
    none holds, but for the one that was made last and should have held them."""
    wanted = set(names)
    made = min((one.serial for one in steps.outside if one.name in wanted), default=0)
    before = [one for one in steps.optimizers if one.steps and one.serial < made]
    if before and all(one.serial < made for one in steps.optimizers if one.steps):
        before.remove(max(before, key=lambda one: one.serial))
    return sum(one.steps for one in before)


def sum_of(seen: Iterable[ParameterSeen]) -> tuple[int, int]:
    """Elements with a gradient, and how many of these changed."""
    every = list(seen)
    sampled = sum(one.sampled for one in every)
    return sampled, sampled - sum(one.unchanged for one in every)


def calls_at(seen: Recording, step: int, rank: int | None) -> list[LabelsSeen]:
    return [call for steps in final_steps(seen, rank) for call in steps.labels if call.step == step]


def evaluations(steps: Steps) -> int:
    """Outermost calls of a model in evaluation mode; where it was left in training mode, those
    without gradients, of which only the kinds between two steps are known."""
    called = sum(root.evaluating for root in steps.roots)
    return called or sum(times for cycle, times in steps.cycles.items() if "t" in cycle)


def moved_to(place: Place, before: Recording, after: Recording) -> range:
    """The lines of a patched file that one line of the file as it was became."""
    line = place.line or 0
    old, new = before.source(place), after.source(place)
    if old is None or new is None:
        return range(line, line + 1)
    matcher = SequenceMatcher(None, old.lines, new.lines, autojunk=False)
    for how, begin, end, new_begin, new_end in matcher.get_opcodes():
        if begin < line <= end:
            same = new_begin + line - begin
            return range(same, same + 1) if how == "equal" else range(new_begin + 1, new_end + 1)
    return range(0)


def some(names: Iterable[str]) -> str:
    """The first few in backticks, and how many more."""
    every = list(dict.fromkeys(names))
    shown = [f"`{name}`" for name in every[:MOST_NAMED]]
    left = len(every) - len(shown)
    return spoken([*shown, f"{left:,} more"] if left else shown)
