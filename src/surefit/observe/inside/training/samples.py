"""A few elements of a tensor, at places that move from look to look."""

from dataclasses import dataclass
from typing import Any

from surefit.observe.inside import spool
from surefit.observe.inside.training import readable

SIZE, IN_PROOF = 64, 256
TURN = 7919
"""A prime: successive looks begin at places that do not repeat soon."""


@dataclass(frozen=True, slots=True)
class Spots:
    """Equally spaced places in a dense stretch of memory."""

    count: int
    step: int
    offset: int

    def view(self, tensor: Any) -> Any:
        """Of a tensor, or of another one with the same strides."""
        return tensor.as_strided((self.count,), (self.step,), tensor.storage_offset() + self.offset)


def spots(tensor: Any, turn: int) -> Spots | None:
    """None where a tensor has no elements, or has them scattered."""
    elements = tensor.numel()
    if not elements or not readable.is_dense(tensor):
        return None
    size = IN_PROOF if spool.in_proof() else SIZE
    if elements <= size:
        return Spots(elements, 1, 0)
    step = elements // size
    step -= 1 - step % 2  # an even step would meet the same few columns of a matrix again and again
    return Spots(size, step, turn * TURN % (elements - step * (size - 1)))


def spacing(values: Any) -> Any:
    """Distance from each value to the next larger number of its dtype."""
    library = readable.torch()
    about = library.finfo(values.dtype)
    size = values.abs().float().clamp_min(about.smallest_normal)
    _, exponent = library.frexp(size)
    return library.ldexp(library.full_like(size, about.eps), exponent - 1)
