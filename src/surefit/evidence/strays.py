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

    @property
    def is_whole(self) -> bool:
        """It is of whole numbers."""
        return self.is_.startswith(("int", "uint"))


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


ONE_DTYPE = (
    "linear",
    "bilinear",
    "matmul",
    "mm",
    "bmm",
    "mv",
    "dot",
    "addmm",
    "baddbmm",
    "einsum",
    "lstm",
    "gru",
    "rnn_tanh",
    "rnn_relu",
    "layer_norm",
    "batch_norm",
    "group_norm",
    "multi_head_attention_forward",
    "scaled_dot_product_attention",
)
"""Operations that take tensors of one dtype, with a fraction, and no others."""
INTO_THE_FIRST = ("setitem", "index_put", "index_add", "index_copy", "scatter", "scatter_add")
"""Operations that write into their first tensor, and take its dtype only."""
HALVES = ("float16", "bfloat16")


def stray_dtype(failure: Failure) -> Stray | None:
    """Of an operation that takes one dtype only, or that writes into a tensor of another."""
    given = [one for one in failure.given if one.dtype != "bool"]
    if failure.name in INTO_THE_FIRST and given:
        floats = [one for one in given if is_floating(one)]
        return stray_of(failure, floats, given[0].dtype, dtype_of)
    if failure.name not in ONE_DTYPE and not failure.name.startswith("conv"):
        return None
    wanted = reference(failure, given, dtype_of) or widely_used({one.dtype for one in given})
    return stray_of(failure, given, wanted, dtype_of)


def is_floating(operation: Operation) -> bool:
    return operation.dtype.startswith(("float", "bfloat"))


def widely_used(dtypes: set[str]) -> str:
    """Of those of a product: float32 beside float64, and a fraction beside whole numbers."""
    floating = sorted(one for one in dtypes if one.startswith(("float", "bfloat")))
    return "float32" if "float32" in floating else floating[0] if len(floating) == 1 else ""


def reference(failure: Failure, given: list[Operation], trait: Trait) -> str:
    """What the parameters are: those that the operation was given, or those behind its tensors."""
    for found in (
        {trait(one) for one in given if one.name == PARAMETER},
        {trait(one) for one in failure.before if one.name == PARAMETER and is_floating(one)},
    ):
        if len(found) == 1:
            return found.pop()
    return ""


def stray_of(failure: Failure, given: list[Operation], wanted: str, trait: Trait) -> Stray | None:
    others = [one for one in given if trait(one) != wanted]
    if not wanted or not others or len(others) == len(given):
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
