"""What tensors are as arrays, once their graph is left behind: their values, to the bit."""

import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import is_tensor

MOST = 20_000_000


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    tensors = list(every(value_in(frames, about)))
    count = sum(int(one.numel()) for one in tensors)
    if not tensors or count > MOST:
        return None
    torch = sys.modules["torch"]
    equal = True
    for one in tensors:
        array = one.detach().float().cpu().numpy()
        back = torch.from_numpy(array.reshape(-1)).to(one.dtype)
        same = torch.eq(back, one.detach().cpu().reshape(-1)) | torch.isnan(back)
        equal = equal and bool(same.all())
    return {"equal": equal, "elements": count, "single": all(one.numel() == 1 for one in tensors)}


def every(value: Any) -> Iterator[Any]:
    if is_tensor(value):
        yield value
    elif type(value) in (list, tuple):
        for one in value:
            yield from every(one)
