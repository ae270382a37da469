"""Of the tensors that an operation was given, the one on another device or of another dtype, and
the operation that made it so."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from surefit.doctor.observations import Operation
from surefit.evidence.failed_operations import Failure

PARAMETER = "parameter"
Trait = Callable[[Operation], str]


@dataclass(frozen=True, slots=True)
class Stray:
    """A tensor that does not go with the others."""

    operand: Operation
    is_: str
    """`cpu`, `float64`: what it is."""
    wanted: str
    """What the others are."""
    chain: tuple[Operation, ...]
    """From the tensor back to the operation that made it so, each from the one behind it."""

    @property
    def origin(self) -> Operation:
        return self.chain[-1]


def device_of(operation: Operation) -> str:
    return operation.device


def dtype_of(operation: Operation) -> str:
    return operation.dtype


def stray_device(failure: Failure) -> Stray | None:
    """Single numbers on the CPU go with every device."""
    given = [one for one in failure.given if one.shape or one.device != "cpu"]
    devices = {one.device for one in given}
    if len(devices) != 2:
        return None
    wanted = reference(failure, given, device_of) or next(
        (one for one in sorted(devices) if one != "cpu"), ""
    )
    return stray_of(failure, given, wanted, device_of)


def stray_dtype(failure: Failure) -> Stray | None:
    """Among numbers with a fraction, or whole ones where a layer needs those with a fraction."""
    given = [one for one in failure.given if one.dtype != "bool"]
    wanted = reference(failure, given, dtype_of)
    if not wanted or len({one.dtype for one in given}) != 2:
        return None
    return stray_of(failure, given, wanted, dtype_of)


def reference(failure: Failure, given: list[Operation], trait: Trait) -> str:
    """What the parameters are: those that the operation was given, or those behind its tensors."""
    for found in (
        {trait(one) for one in given if one.name == PARAMETER},
        {trait(one) for one in failure.before if one.name == PARAMETER and is_weight(one)},
    ):
        if len(found) == 1:
            return found.pop()
    return ""


def is_weight(operation: Operation) -> bool:
    return operation.dtype.startswith(("float", "bfloat"))


def stray_of(failure: Failure, given: list[Operation], wanted: str, trait: Trait) -> Stray | None:
    others = [one for one in given if trait(one) != wanted]
    if not others or len(others) == len(given):
        return None
    chain = tuple(back_to_origin(failure, others[0], trait))
    return Stray(others[0], trait(others[0]), wanted, chain)


def back_to_origin(failure: Failure, operand: Operation, trait: Trait) -> Iterator[Operation]:
    """Along those that are like the operand, to the one that took nothing like it."""
    at = operand
    for _ in range(len(failure.before) + 1):
        yield at
        same = [one for one in failure.taken(at) if trait(one) == trait(operand)]
        larger = [one for one in same if one.shape] or same
        if not larger:
            return
        at = larger[0]
