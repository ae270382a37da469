"""Which layer gave a tensor the size that it has on one axis."""

from dataclasses import dataclass

from surefit.doctor.observations import Layer, Operation
from surefit.evidence.failed_operations import Failure

PARAMETER = "parameter"
JOINS = ("cat", "concat", "concatenate")


@dataclass(frozen=True, slots=True)
class Maker:
    """The operation that gave the size, and the parameter that it has it from."""

    operation: Operation
    weight: Operation | None = None

    @property
    def layer(self) -> Layer | None:
        return self.weight.layer if self.weight else None


def maker_of(failure: Failure, operand: Operation, axis: int) -> Maker:
    """Back from a tensor as long as the size stays, to a layer whose weight has it, or to what was
    given; `axis` is counted from the end."""
    size, at = operand.shape[axis], operand
    for _ in range(len(failure.before) + 1):
        if at.name in JOINS:
            return Maker(at)
        taken = failure.taken(at)
        weights = [one for one in taken if one.name == PARAMETER and len(one.shape) > 1]
        if weights:
            has_it = [one for one in weights if size in one.shape]
            return Maker(at, has_it[-1] if has_it else None)
        same = [one for one in taken if one.name != PARAMETER and size in one.shape]
        if not same:
            return Maker(at)
        at = same[0]
    return Maker(at)


def is_behind(failure: Failure, earlier: Operation, later: Operation) -> bool:
    """Whether one was made from the other."""
    waiting, met = [later], {later.serial}
    while waiting:
        for one in failure.taken(waiting.pop()):
            if one.serial == earlier.serial:
                return True
            if one.serial not in met:
                met.add(one.serial)
                waiting.append(one)
    return False
