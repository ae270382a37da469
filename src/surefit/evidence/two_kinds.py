"""Whether a crash shows tensors on several devices, or of several dtypes: cheap to ask, and without
it no second run is worth its time."""

from collections.abc import Iterator

from surefit.doctor.observations import Crash, Value
from surefit.laws.contracts.reshapes import is_reshape

FLOATING = ("float16", "bfloat16", "float32", "float64")
INNER_FRAMES = 12


def several_devices(crash: Crash) -> bool:
    devices = {one.device for one in tensors(crash) if one.device and one.shape}
    return len(devices) > 1


def several_dtypes(crash: Crash) -> bool:
    """Of numbers with a fraction; or whole ones, which came to a layer. One tensor that is given
    another shape has no other beside it."""
    if crash.own_frame is crash.frames[-1] and is_reshape(crash.frames[-1]):
        return False
    dtypes = {one.dtype for one in tensors(crash) if one.dtype and one.shape is not None}
    return len(dtypes) > 1 and any(one in FLOATING for one in dtypes)


def tensors(crash: Crash) -> Iterator[Value]:
    for frame in crash.frames[-INNER_FRAMES:]:
        for value in frame.values:
            inside = value.members.values() if value.members else ()
            for one in (value, *inside):
                if one.kind not in ("ndarray", "memmap") and one.dtype is not None:
                    yield one
