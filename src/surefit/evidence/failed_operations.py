"""The operation on tensors that a crash comes from, and how what it was given came to be."""

from dataclasses import dataclass

import msgspec

from surefit.doctor.observations import Crash, Layer, Operation, Question
from surefit.doctor.recording import Recording

OF_FAILURE = "story-of-failure"


@dataclass(frozen=True, slots=True)
class Failure:
    """The operation that raised, and those before it."""

    operation: Operation
    before: tuple[Operation, ...]
    """Newest first."""
    layers: tuple[Layer, ...] = ()
    """Those without others inside, of the largest module that the frames know."""

    @property
    def name(self) -> str:
        """`add` for every way to write that: `+`, `torch.add`, `x.add_`."""
        return plain_name(self.operation.name)

    @property
    def given(self) -> list[Operation]:
        """What made its tensors, in the order it was given them."""
        return self.taken(self.operation)

    def taken(self, operation: Operation) -> list[Operation]:
        known = {one.serial: one for one in self.before}
        return [known[serial] for serial in operation.takes if serial in known]


def failure_of(seen: Recording, crash: Crash) -> Failure | None:
    """As a second run told it; None until then, and where no operation on tensors failed."""
    said = seen.ask(Question(OF_FAILURE, crash.id))
    told = said.get("operations") if said else None
    operations = msgspec.convert(told or [], list[Operation], strict=False)
    own = crash.own_frame
    if not operations or own is None or not is_at(operations[0], own.place.line):
        return None
    layers = msgspec.convert((said or {}).get("layers") or [], tuple[Layer, ...], strict=False)
    return Failure(operations[0], tuple(operations[1:]), layers)


def is_at(operation: Operation, line: int | None) -> bool:
    """It was the innermost own line of the crash that made the operation fail."""
    place = operation.place
    if place is None or place.line is None or line is None:
        return False
    return place.line <= line <= (place.end_line or place.line)


def plain_name(name: str) -> str:
    bare = name.strip("_")
    for start in ("i", "r"):  # `__iadd__`, `__radd__`
        if name.startswith(f"__{start}") and bare[1:] in ARITHMETIC:
            return bare[1:]
    return bare


ARITHMETIC = ("add", "sub", "mul", "div", "truediv", "pow", "matmul", "floordiv", "mod")
