"""What another collator of the library makes of a copy of the rows."""

import sys
from collections.abc import Sequence
from copy import deepcopy
from types import FrameType
from typing import Any

from surefit.observe.inside.autopsy.collators import rows_in
from surefit.observe.inside.autopsy.questions import Said
from surefit.observe.inside.autopsy.values import mapping


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    rows, tokenizer = rows_in(frames)
    kind = getattr(sys.modules.get("transformers"), str(about["kind"]), None)
    if kind is None or tokenizer is None or not rows:
        return None
    copies = [{**(mapping(row) or {})} for row in deepcopy(rows)]
    batch = kind(tokenizer)(copies)
    labels = batch["labels"]
    supervised = int((labels != -100).sum())
    return {
        "shape": [int(size) for size in labels.shape],
        "supervised": supervised,
        "equal": supervised == about.get("expected"),
        "elements": supervised,
    }
