"""Which parameters and buffers of a module are on the meta device, and have no data."""

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import is_module

MOST_NAMED = 40


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    module = value_in(frames, about)
    if not is_module(module):
        return None
    kind = sys.modules["torch"].nn.Module
    parameters = list(kind.named_parameters(module))
    buffers = list(kind.named_buffers(module))
    return {
        "parameters": [name for name, tensor in parameters if tensor.is_meta][:MOST_NAMED],
        "buffers": [name for name, tensor in buffers if tensor.is_meta][:MOST_NAMED],
    }
