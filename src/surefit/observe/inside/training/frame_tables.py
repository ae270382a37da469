"""Arrays, tensors and data frames among the variables of the user's frames."""

import sys
from collections.abc import Iterator
from inspect import CO_OPTIMIZED
from types import FrameType
from typing import Any

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.values import is_a, is_tensor
from surefit.observe.inside.training import readable

MOST_ELEMENTS = 1_000_000
MOST_FRAMES = 5


def own_frames(depth: int) -> Iterator[FrameType]:
    """The innermost ones first."""
    frame: FrameType | None = sys._getframe(depth)
    frames = 0
    while frame is not None and frames < MOST_FRAMES:
        if own_code.own(frame.f_code):
            frames += 1
            yield frame
        frame = frame.f_back


def variables_of(frame: FrameType) -> dict[str, Any]:
    """Of a function, Python's own copy of them is emptied: it would keep arrays alive."""
    held = frame.f_locals
    values = dict(held)
    if frame.f_code.co_flags & CO_OPTIMIZED and type(held) is dict:
        held.clear()
    return values


def is_pandas(value: Any, name: str) -> bool:
    """Of that very class: another could have code of its own."""
    return type(value).__module__.partition(".")[0] == "pandas" and is_a(value, "pandas", name)


def width_of(value: Any) -> int:
    """Elements of a row of a table; 0 where it is none, or too large."""
    if is_pandas(value, "DataFrame"):
        numeric = [kind for kind in value.dtypes if getattr(kind, "kind", "O") in "iufb"]
        wide = len(numeric)
        return wide if wide == len(value.columns) and len(value) * wide <= MOST_ELEMENTS else 0
    if not (is_tensor(value) or is_a(value, "numpy", "ndarray")):
        return 0
    shape = tuple(int(size) for size in value.shape)
    elements = 1
    for size in shape:
        elements *= size
    return elements // shape[0] if len(shape) > 1 and 0 < elements <= MOST_ELEMENTS else 0


def tensor_of(value: Any) -> Any:
    torch = readable.torch()
    if is_tensor(value):
        plain = readable.plain(value)
        return plain.detach() if plain is not None and plain.is_cpu else None
    if is_pandas(value, "DataFrame") or is_pandas(value, "Series"):
        value = value.to_numpy()
    if not is_a(value, "numpy", "ndarray") or value.dtype.kind not in "iufb":
        return None
    return torch.tensor(value)
