"""Whether a classifier that is told of padding gives each row of a batch what it gives it alone."""

import sys
from collections.abc import Sequence
from copy import deepcopy
from types import FrameType
from typing import Any

from surefit.observe.inside import own_code
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import attributes, is_module, is_tensor

MOST_PARAMETERS = 50_000_000
MOST_ROWS = 16


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    """Of the innermost frame: its `self`, `input_ids` and `attention_mask`. The model is copied."""
    names = frames[int(about["frame"])].f_locals
    model: Any = names.get("self")
    ids: Any = names.get("input_ids")
    mask: Any = names.get("attention_mask")
    config = attributes(model).get("config")
    if not is_module(model) or config is None or not is_tensor(ids):
        return None
    known = attributes(config)
    said: dict[str, Any] = {
        "pad": known.get("pad_token_id"),
        "eos": known.get("eos_token_id"),
        "rows": int(ids.shape[0]),
        "ids": [],
        "padded": 0,
    }
    if is_tensor(mask) and tuple(mask.shape) == tuple(ids.shape):
        filled = ids[mask == 0]
        said["padded"] = int(filled.numel())
        said["ids"] = [int(one) for one in filled.unique()[:4]]
    else:
        mask = None
    pad = said["ids"][0] if len(said["ids"]) == 1 else about.get("pad", known.get("eos_token_id"))
    said["used"] = pad if type(pad) is int else None
    small = sum(int(one.numel()) for one in model.parameters()) <= MOST_PARAMETERS
    if type(pad) is int and small and not own_code.own_class(type(model)):
        said["difference"] = _difference(model, ids[:MOST_ROWS], mask, pad)
    return said


def _difference(model: Any, ids: Any, mask: Any, pad: int) -> float:
    """The largest between a row's logits in the batch and its logits alone, without padding."""
    torch = sys.modules["torch"]
    copy = deepcopy(model).eval()
    copy.config.pad_token_id = pad
    mask = torch.ones_like(ids) if mask is None else mask[: len(ids)]
    together = copy(input_ids=ids, attention_mask=mask).logits
    largest = 0.0
    for row, real, logits in zip(ids, mask, together, strict=True):
        alone = row[real != 0].unsqueeze(0)
        single = copy(input_ids=alone, attention_mask=torch.ones_like(alone)).logits[0]
        largest = max(largest, float((single - logits).abs().max()))
    return largest
