"""Rows reach the model as one tensor, with all that they hold."""

from dataclasses import dataclass
from math import prod

from surefit.doctor.conditions.condition import Judgement, Needs
from surefit.doctor.observations import InputsSeen
from surefit.doctor.progress import final_steps, first_crash, steps_before_the_fault
from surefit.doctor.recording import Recording
from surefit.doctor.words import counted, shape_of


@dataclass(frozen=True, slots=True)
class RowsReachModel:
    """The batch of the fault reaches the model in this shape, and its numbers are all there."""

    shape: tuple[int | None, ...]
    """None: of any size, for what a collator pads to a size of its own."""
    total: int | None = None
    """Sum of the whole numbers that the rows hold; None: they are no whole numbers."""
    elements: int | None = None
    """How many numbers the rows hold; the rest of the shape is padding, the same all over.
    None: there is none."""
    name: str | None = None
    """The argument it must arrive as; None: any."""

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs()

    def judge(self, before: Recording, after: Recording) -> Judgement:
        crash = first_crash(before)
        at = steps_before_the_fault(before)
        rank = crash.process.rank if crash else None
        calls = [call for call in inputs_of(after, rank) if call.step >= at]
        if not calls:
            return Judgement(False, f"the model was not called after step {at:,}", False)
        shaped = [
            (call, name)
            for call in calls
            for name, shape in call.shapes.items()
            if self.fits(shape) and self.name in (None, name)
        ]
        if not shaped:
            seen = self.shapes_in(calls[0])
            said = f"no {self.wanted} reached the model, but {seen}"
            return Judgement(False, said, decided=self.name is not None)
        for call, name in shaped:
            if self.is_all(call, name):
                return Judgement(True, self.said(call, name))
        return Judgement(
            False, f"other numbers than those of the rows reach it as `{shaped[0][1]}`"
        )

    def is_all(self, call: InputsSeen, name: str) -> bool:
        """All numbers are there, and what was added is one number, again and again."""
        total = call.totals.get(name)
        if self.total is None or total is None:
            return None not in self.shape  # no whole numbers any more: the shape must do
        places = prod(call.shapes[name])
        added = places - (places if self.elements is None else self.elements)
        if added <= 0:
            return added == 0 and total == self.total
        return (total - self.total) % added == 0

    def fits(self, shape: tuple[int, ...]) -> bool:
        if len(shape) != len(self.shape):
            return False
        return all(wanted in (None, size) for wanted, size in zip(self.shape, shape, strict=True))

    @property
    def wanted(self) -> str:
        return f"({', '.join('…' if size is None else str(size) for size in self.shape)})"

    def said(self, call: InputsSeen, name: str) -> str:
        what = f"`{name}`" if not name.isdigit() else "a batch"
        whole = "" if self.total is None or name not in call.totals else ", with all its numbers"
        return f"{what} reaches the model as {shape_of(call.shapes[name])}{whole}"

    def shapes_in(self, call: InputsSeen) -> str:
        named = [f"`{name}` {shape_of(shape)}" for name, shape in list(call.shapes.items())[:3]]
        return ", ".join(named) or counted(0, "tensor")


def inputs_of(seen: Recording, rank: int | None = None) -> list[InputsSeen]:
    return [call for steps in final_steps(seen, rank) for call in steps.inputs]


@dataclass(frozen=True, slots=True)
class ColumnReachesModel:
    """At the step of the fault the model is given a column for each row of its batch, which it was
    not given before."""

    name: str

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs()

    def judge(self, before: Recording, after: Recording) -> Judgement:
        crash = first_crash(before)
        at = steps_before_the_fault(before)
        rank = crash.process.rank if crash else None
        calls = [call for call in inputs_of(after, rank) if call.step >= at]
        if not calls:
            return Judgement(False, f"the model was not called after step {at:,}", False)
        without = [call for call in calls if not self.is_given(call)]
        if without:
            return Judgement(False, f"`{self.name}` does not reach the model for every row")
        shape = calls[0].shapes[self.name]
        times = counted(len(calls), "call")
        return Judgement(
            True, f"`{self.name}` reaches the model as {shape_of(shape)}, in each of {times}"
        )

    def is_given(self, call: InputsSeen) -> bool:
        shape = call.shapes.get(self.name)
        rows = {size[0] for size in call.shapes.values() if size}
        return bool(shape) and len(rows) == 1
