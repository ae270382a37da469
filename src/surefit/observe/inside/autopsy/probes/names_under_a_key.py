"""Whether a mapping inside of what a module is given has exactly its names and shapes."""

from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.probes.state_dict import inside, loading, shape, tensors_of
from surefit.observe.inside.autopsy.questions import Said


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    found = loading(frames)
    if found is None:
        return None
    module, given = found
    own = {name: shape(one) for name, one in tensors_of(module)}
    return {"equal": inside(given).get(about["key"]) == own, "elements": len(own)}
