"""What a tokenizer is set to."""

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import is_a


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    tokenizer = value_in(frames, about)
    library = "transformers.tokenization_utils_base"
    if library not in sys.modules or not is_a(tokenizer, library, "PreTrainedTokenizerBase"):
        return None
    return {
        "pad": tokenizer.pad_token_id,
        "eos": tokenizer.eos_token_id,
        "eos_token": str(tokenizer.eos_token) if tokenizer.eos_token is not None else None,
        "size": len(tokenizer),
    }
