"""Which tensors of the failing call, and of the user's frames, were made in inference mode."""

from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.holders import held, held_in
from surefit.observe.inside.autopsy.questions import Said

MOST_TOLD = 12


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:  # noqa: ARG001
    names = [holder.text for holder, tensor in held(reversed(frames)) if tensor.is_inference()]
    innermost = frames[-1] if frames else None
    failing = innermost is not None and not own_code.own(innermost.f_code)
    below = [
        holder.text
        for holder, tensor in (held_in(innermost) if innermost and failing else ())
        if tensor.is_inference()
    ]
    return {"names": names[:MOST_TOLD], "in_the_call": below[:MOST_TOLD]}
