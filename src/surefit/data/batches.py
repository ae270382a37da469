"""Rows of tokens padded to one length, with masks; for surefit's loop and for the Trainer's."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from surefit.data.tokens import IGNORED
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

Batch = dict[str, torch.Tensor]

UNEQUAL_ROW = refusal(
    "SF161", "columns-of-unequal-length", "A row's labels or mask are not as many as its tokens."
)


class PadRows:
    """Pads rows on the right to the longest of their batch: pad id, 0 and -100.

    Takes rows with `input_ids` and `labels`, as lists or tensors; an `attention_mask` is kept where
    rows have one. It masks by place, never by id: a real EOS stays supervised where pad is EOS.
    Give it to the Trainer as `data_collator=PadRows(tokenizer)`.
    """

    def __init__(self, tokenizer: Any = None, *, pad_id: int | None = None) -> None:
        found = tokenizer.pad_token_id if pad_id is None else pad_id
        # The mask hides padding and the labels skip it, so that any id serves.
        if found is None:
            found = tokenizer.eos_token_id or 0
        self.pad_id = int(found)

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> Batch:
        ids = [_as_list(row["input_ids"]) for row in rows]
        masks = [
            _as_list(row.get("attention_mask", [1] * len(i)))
            for row, i in zip(rows, ids, strict=True)
        ]
        labels = [_as_list(row["labels"]) for row in rows]
        for name, others in (("labels", labels), ("attention_mask", masks)):
            for index, (row, other) in enumerate(zip(ids, others, strict=True)):
                if len(row) != len(other):
                    raise BadInput(_unequal(index, len(row), name, len(other)))
        return {
            "input_ids": pad(ids, self.pad_id),
            "attention_mask": pad(masks, 0),
            "labels": pad(labels, IGNORED),
        }


def pad(rows: Sequence[Sequence[int]], filler: int, *, left: bool = False) -> torch.Tensor:
    """A `[rows, longest]` tensor of int64, filled on the right, or on the left to generate."""
    longest = max(len(row) for row in rows)
    filled = torch.full((len(rows), longest), filler, dtype=torch.int64)
    for place, row in zip(filled, rows, strict=True):
        values = torch.as_tensor(row, dtype=torch.int64)
        if left:
            place[longest - len(row) :] = values
        else:
            place[: len(row)] = values
    return filled


def _as_list(values: Any) -> list[int]:
    return values.tolist() if isinstance(values, torch.Tensor) else list(values)


def _unequal(index: int, ids: int, name: str, count: int) -> Finding:
    return UNEQUAL_ROW.finding(
        Place("batch", row=index + 1),
        f"Row {index + 1} of this batch has {ids} `input_ids` and {count} `{name}`.",
        facts=[Fact("`input_ids`", str(ids)), Fact(f"`{name}`", str(count))],
        why="Padding both to one length would pair them with the wrong tokens.",
        fixes=[Fix(f"Make `{name}` from the row's own `input_ids`, after truncation.")],
    )
