"""What a loss function is given in the patched run."""

from dataclasses import dataclass

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.findings import Place
from surefit.doctor.moved import moved_to
from surefit.doctor.observations import LossGiven
from surefit.doctor.progress import final_steps, first_crash, steps_before, steps_before_the_fault
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, shape_of

NEAR = 1e-6
STEPS = 16
"""Past the fault: an evaluation after a short epoch is then seen, too."""


@dataclass(frozen=True, slots=True)
class LossGets:
    """The call of the fault gets targets of this shape and kind, as many as there are, and the same
    ones; later calls from the same line get such, too, whatever their number of rows."""

    name: str
    place: Place
    """The user's line that calls the loss, or the model that does."""
    target_shape: tuple[int, ...]
    target_dtypes: tuple[str, ...] = ()
    """Any of these; without any, every one."""
    supervised: int | None = None
    total: float | None = None
    """What the labels add up to."""
    shape: tuple[int, ...] | None = None
    """Of the predictions."""
    changes_the_past: bool = False
    steps: int | None = None
    at_least: int = 0
    """Labels over all calls, fewer of which would show nothing."""
    converted: bool = False
    """`total` is not that of the first run: each label has become another."""
    any_size: bool = False
    """Only how many axes there are counts, and that both sides agree."""
    predictions: tuple[float, float] | None = None
    """Least and greatest in the first run: a fix of the labels alone leaves them as they are."""

    def steps_needed(self, before: Recording) -> int | None:
        crash = first_crash(before)
        return self.steps or (steps_before(crash, before) if crash else 0) + STEPS

    def needs(self, before: Recording) -> Needs:
        return Needs(steps=self.steps_needed(before), changes_the_past=self.changes_the_past)

    def judge(self, before: Recording, after: Recording) -> Judgement:
        at = steps_before_the_fault(before)
        given = [one for one in self.calls(before, after) if one.step >= at]
        if not given:
            return Judgement(False, f"`{self.name}` was not called at {self.place} again", False)
        first = next((one for one in given if self.is_it(one)), None)
        if first is None:
            return Judgement(False, self.said(given[0]))
        if not any(self.has_its_predictions(one) for one in given if self.is_it(one)):
            least, greatest = first.least or 0.0, first.greatest or 0.0
            said = f"its predictions are {least:.6g} to {greatest:.6g}"
            had = "they were {:.6g} to {:.6g}".format(*(self.predictions or ()))
            return Judgement(False, f"{said}, and {had}: more than the labels has changed")
        unlike = next((one for one in given if not self.is_like(one)), None)
        if unlike is not None:
            return Judgement(False, self.said(unlike))
        count = sum(one.supervised for one in given)
        if count < self.at_least:
            few = f"only {counted(count, 'label')} came by, and {self.at_least:,} would show it"
            return Judgement(False, few, False)
        labels = counted(first.supervised, "label") if self.supervised is not None else "targets"
        same = ", the same ones" if self.total is not None else ""
        if self.total is not None and self.converted:
            same = f", which add up to {self.total:,g} as they must"
        more = f"; {counted(len(given), 'call')} in all" if len(given) > 1 else ""
        return Judgement(True, f"{self.said(first)}, all {labels}{same}{more}")

    def calls(self, before: Recording, after: Recording) -> list[LossGiven]:
        lines = moved_to(self.place, before, after)
        return [
            given
            for steps in final_steps(after)
            for call in steps.loss_calls
            if call.name == self.name
            and call.place is not None
            and (call.place.file == self.place.file and (call.place.line or 0) in lines)
            for given in call.each
        ]

    def is_it(self, one: LossGiven) -> bool:
        if self.any_size:
            return self.is_like(one)
        if one.target_shape != self.target_shape or not self.is_like(one):
            return False
        if self.supervised is not None and one.supervised != self.supervised:
            return False
        if self.shape is not None and one.shape != self.shape:
            return False
        return self.total is None or abs(one.total - self.total) <= NEAR * max(1, abs(self.total))

    def has_its_predictions(self, one: LossGiven) -> bool:
        """As in the first run, as far as both were looked at."""
        if self.changes_the_past or self.predictions is None:
            return True
        if one.least is None or one.greatest is None:
            return True
        pairs = zip(self.predictions, (one.least, one.greatest), strict=True)
        return all(abs(had - has) <= NEAR * max(1, abs(had)) for had, has in pairs)

    def is_like(self, one: LossGiven) -> bool:
        if len(one.target_shape) != len(self.target_shape):
            return False
        if self.shape is not None and len(one.shape) != len(self.shape):
            return False
        if self.any_size and one.shape != one.target_shape:
            return False
        return not self.target_dtypes or one.target_dtype in self.target_dtypes

    def said(self, one: LossGiven) -> str:
        targets = f"{one.target_dtype} targets {shape_of(one.target_shape)}"
        return f"`{self.name}` gets {targets} for predictions {shape_of(one.shape)}"
