"""Ids that a table has no row for: which, where in their rows, and what tokenizers know of them."""

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from surefit.observe.inside import origins
from surefit.observe.inside.autopsy.questions import Said, value_in
from surefit.observe.inside.autopsy.values import is_tensor

MOST = 8


def answer(frames: Sequence[FrameType], about: dict[str, Any]) -> Said:
    ids = value_in(frames, about)
    if not is_tensor(ids) or ids.numel() == 0 or ids.is_floating_point():
        return None
    ids, rows, filler = ids.detach().cpu().long(), int(about["rows"]), about.get("filler")
    if about.get("ignored") is not None:
        ids = ids[ids != int(about["ignored"])]
        if ids.numel() == 0:
            return None
    lacking = (ids < 0) | (ids >= rows)
    values = ids[lacking].unique()
    inside = ids[~lacking]
    table = ids.reshape(-1, ids.shape[-1]) if ids.dim() else ids.reshape(1, 1)
    outside = lacking.reshape(table.shape)
    in_row = outside.sum(-1)
    return {
        "outside": int(lacking.sum()),
        "elements": int(ids.numel()),
        "distinct": int(values.numel()),
        "first": values[:MOST].tolist(),
        "least": int(ids.min()),
        "greatest": int(ids.max()),
        "least_inside": int(inside.min()) if inside.numel() else None,
        "at_the_end": together_at_the_end(outside),
        "at_the_start": together_at_the_end(outside.flip(-1)),
        "most_in_a_row": int(in_row.max()),
        "fewest_in_a_row": int(in_row.min()),
        "counts_up_from": counts_up_from(table, filler),
        "longest": int(table.shape[-1]),
        "tokenizers": [known(one, values[:MOST].tolist()) for one in tokenizers()],
    }


def together_at_the_end(outside: Any) -> bool:
    """In every row, nothing follows them but more of them."""
    steps = outside[:, 1:].int() - outside[:, :-1].int()
    return bool((steps >= 0).all()) and outside.shape[-1] > 1


def counts_up_from(table: Any, filler: Any) -> int | None:
    """Where every row counts up by one, but for the filler: positions, and where they begin."""
    if table.shape[-1] < 2:
        return None
    rows = [row if filler is None else row[row != filler] for row in table[:64]]
    rows = [row for row in rows if row.numel() > 1]
    if not rows or any(bool((row[1:] - row[:-1] != 1).any()) for row in rows):
        return None
    starts = {int(row[0]) for row in rows}
    return starts.pop() if len(starts) == 1 else None


def tokenizers() -> list[Any]:
    library = sys.modules.get("transformers.tokenization_utils_base")
    return list(origins.alive(library.PreTrainedTokenizerBase)) if library else []


def known(tokenizer: Any, ids: list[int]) -> dict[str, Any]:
    """What a tokenizer says of ids."""
    size = len(tokenizer)
    mine = [one for one in ids if 0 <= one < size]
    added = set(tokenizer.get_added_vocab().values())
    return {
        "kind": type(tokenizer).__name__,
        "size": size,
        "tokens": {str(one): str(tokenizer.convert_ids_to_tokens(one)) for one in mine},
        "added": [one for one in mine if one in added],
        "pad": tokenizer.pad_token_id,
    }
