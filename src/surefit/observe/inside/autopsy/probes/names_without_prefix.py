"""Whether names and shapes of a module and of what it is given are the same but for a prefix."""

from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.probes.state_dict import loading, shape, tensors_of
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import is_tensor


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    """`given`: the prefix stands before the given names; otherwise before the module's."""
    found = loading(frames)
    if found is None:
        return None
    module, given = found
    own = {name: shape(one) for name, one in tensors_of(module)}
    theirs = {str(name): shape(one) for name, one in given.items() if is_tensor(one)}
    longer, shorter = (theirs, own) if about["given"] else (own, theirs)
    prefix = about["prefix"]
    bare = {
        name.removeprefix(prefix): one
        for name, one in longer.items()
        if name.startswith(prefix) or "." in name or one
    }
    return {"equal": bare == shorter, "elements": len(shorter)}
