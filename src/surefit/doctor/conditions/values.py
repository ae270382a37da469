"""Values at a line of the user's are, in the patched run, as they must be."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from surefit.doctor.conditions.condition import Judgement, Needs, passed_at
from surefit.doctor.findings import Place
from surefit.doctor.observations import Passed, Value, Watchpoint
from surefit.doctor.progress import steps_before_the_fault
from surefit.doctor.recording import Recording
from surefit.doctor.words import code, counted, shape_of, spoken


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one value must be; whatever is None may be anything."""

    text: str
    """As the patched line writes it: a name, an attribute, a subscript, a view of a tensor."""
    shape: tuple[int | None, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    least: float | None = None
    """No element is below it; `greatest`: none is above."""
    greatest: float | None = None
    requires_grad: bool | None = None
    rows: int | None = None
    """The size of its first axis, whatever the others are."""

    def unmet(self, value: Value) -> Iterator[str]:
        """In which respects a value is something else."""
        if self.shape is not None and not self.fits(value.shape):
            yield f"has the shape {shape_of(value.shape) if value.shape is not None else 'of none'}"
        if self.rows is not None and rows_of(value) != self.rows:
            yield f"has {rows_of(value)} rows"
        if self.dtype is not None and value.dtype != self.dtype:
            yield f"is {value.dtype or value.kind}"
        if self.device is not None and value.device != self.device:
            yield f"is on {value.device}"
        if self.requires_grad is not None and value.requires_grad is not self.requires_grad:
            yield "needs no gradient" if self.requires_grad else "needs a gradient"
        if self.least is not None and not (value.least is not None and value.least >= self.least):
            yield f"goes down to {number(value.least)}"
        if self.greatest is not None and not (
            value.greatest is not None and value.greatest <= self.greatest
        ):
            yield f"goes up to {number(value.greatest)}"

    def fits(self, shape: tuple[int, ...] | None) -> bool:
        if shape is None or self.shape is None or len(shape) != len(self.shape):
            return False
        return all(wanted in (None, size) for wanted, size in zip(self.shape, shape, strict=True))

    def met(self, value: Value) -> str:
        """The same in a good case, as it was measured."""
        shaped = self.shape is not None or self.rows is not None
        parts = [shape_of(value.shape)] if shaped and value.shape else []
        if self.rows is not None and not value.shape:
            return f"{code(self.text)} has {counted(self.rows, 'row')}"
        parts += [part for part in (self.dtype, self.device) if part is not None]
        if self.least is not None or self.greatest is not None:
            parts.append(f"from {number(value.least)} to {number(value.greatest)}")
        if parts or self.requires_grad is None:
            return f"{code(self.text)} is {', '.join(parts) or 'as it must be'}"
        return f"{code(self.text)} wants {'a' if self.requires_grad else 'no'} gradient"


@dataclass(frozen=True, slots=True)
class ValuesAt:
    """Where the batch of the fault comes by, values are as they must be.

    Others, too, but for sizes of axes: a last batch is often smaller, and in an evaluation whole
    batches come by before it, without a step between them.
    """

    place: Place
    """A statement of the first run; a patch may have changed it."""
    wanted: tuple[Wanted, ...]
    after: bool = False
    """Once the statement has run."""
    at: int | None = None
    """Optimizer steps before the batch of the fault; None: as many as there were."""

    @property
    def watchpoint(self) -> Watchpoint:
        plain = Place(self.place.file, self.place.line)
        return Watchpoint(plain, tuple(one.text for one in self.wanted), self.after)

    def needs(self, before: Recording) -> Needs:  # noqa: ARG002
        return Needs(watchpoints=(self.watchpoint,))

    def judge(self, before: Recording, after: Recording) -> Judgement:
        at = steps_before_the_fault(before) if self.at is None else self.at
        came = passed_at(self.watchpoint, after)
        come = [one for one in came if one.step >= at]
        if not come:
            return Judgement(False, f"the patched run did not come to {self.place} again", False)
        same_step = (one for one in come if one.step == come[0].step)
        of_the_fault = next((one for one in same_step if self.is_met(one)), come[0])
        for one in come:
            values = {value.text: value for value in one.values}
            exact = one is of_the_fault
            for wanted in self.wanted if exact else map(of_any_size, self.wanted):
                value = values.get(wanted.text)
                if value is None:
                    unread = f"{code(wanted.text)} could not be read at {self.place}"
                    return Judgement(False, unread, False)
                unmet = list(wanted.unmet(value))
                if unmet:
                    return Judgement(False, f"{code(wanted.text)} {spoken(unmet)}")
        values = {value.text: value for value in of_the_fault.values}
        said = spoken([one.met(values[one.text]) for one in self.wanted])
        each = "each" if all(self.is_met(one) for one in come) else "one"
        more = f", {each} of {counted(len(come), 'time')}" if len(come) > 1 else ""
        return Judgement(True, f"{said} at {self.place}{more}")

    def is_met(self, passed: Passed) -> bool:
        values = {value.text: value for value in passed.values}
        return all(
            one.text in values and not list(one.unmet(values[one.text])) for one in self.wanted
        )


def rows_of(value: Value) -> int | None:
    """Of a tensor, an array, a table or a list."""
    return value.shape[0] if value.shape else value.length


def of_any_size(wanted: Wanted) -> Wanted:
    shape = None if wanted.shape is None else (None,) * len(wanted.shape)
    return replace(wanted, shape=shape, rows=None)


def number(value: float | None) -> str:
    return "nothing that could be read" if value is None else f"{value:g}"
