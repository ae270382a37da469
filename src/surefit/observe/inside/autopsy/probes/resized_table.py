"""Whether `resize_token_embeddings`, on a copy of the model, leaves the rows that there were."""

import inspect
import sys
from collections.abc import Sequence
from copy import deepcopy
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import is_module

MOST_PARAMETERS = 50_000_000
"""A larger model is not copied."""


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    model = value_in(frames, about)
    if not is_module(model) or not hasattr(type(model), "resize_token_embeddings"):
        return None
    if sum(int(one.numel()) for one in model.parameters()) > MOST_PARAMETERS:
        return None
    copy = deepcopy(model)
    before = model.get_input_embeddings().weight
    resize = copy.resize_token_embeddings
    plain = "mean_resizing" in inspect.signature(resize).parameters
    resize(int(about["size"]), **({"mean_resizing": False} if plain else {}))  # without a word
    after = copy.get_input_embeddings().weight[: before.shape[0]]
    equal = bool(sys.modules["torch"].equal(before, after))
    return {"equal": equal, "elements": int(before.numel())}
