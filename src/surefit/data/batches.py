"""Rows of tokens padded to one length, with masks; for surefit's loop and for the Trainer's."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from surefit.data.tokens import IGNORED
from surefit.doctor.findings import Fact, Finding, Fix, Place
from surefit.doctor.rule import refusal
from surefit.errors import BadInput

Batch = dict[str, torch.Tensor]
Numbers = NDArray[np.integer[Any]]

UNEQUAL_ROW = refusal(
    "SF161", "columns-of-unequal-length", "A row's labels or mask are not as many as its tokens."
)


class PadRows:
    """A collator that pads rows on the right to the longest of their batch: pad id, 0 and -100.

    Rows have `input_ids` and `labels` as lists, arrays or tensors; an `attention_mask` is kept if
    they have one. Padding is masked by position, not by id: EOS stays supervised even if it is the
    padding token. Pass it to the Trainer as `data_collator=PadRows(tokenizer)`.
    """

    def __init__(self, tokenizer: Any = None, *, pad_id: int | None = None) -> None:
        found = tokenizer.pad_token_id if pad_id is None else pad_id
        # The mask hides padding and the labels skip it, so that any id serves.
        if found is None:
            found = tokenizer.eos_token_id or 0
        self.pad_id = int(found)

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> Batch:
        ids = columns(rows, "input_ids")
        labels = columns(rows, "labels", ids)
        return {
            "input_ids": pad(ids, self.pad_id),
            "attention_mask": _masks(rows, ids),
            "labels": pad(labels, IGNORED),
        }


def columns(
    rows: Sequence[Mapping[str, Any]], name: str, ids: Sequence[Numbers] | None = None
) -> list[Numbers]:
    """One column of each row, as arrays; raises `BadInput` where one is not as long as its ids."""
    found = [np.asarray(row[name]) for row in rows]
    for index, (own, one) in enumerate(zip(ids or found, found, strict=True)):
        if len(own) != len(one):
            raise BadInput(_unequal(index, len(own), name, len(one)))
    return found


def pad(
    rows: Sequence[Sequence[int] | Numbers], filler: int, *, left: bool = False
) -> torch.Tensor:
    """A `[rows, longest]` tensor of int64, filled on the right, or on the left to generate."""
    longest = max(len(row) for row in rows)
    filled = np.full((len(rows), longest), filler, dtype=np.int64)
    for place, row in zip(filled, rows, strict=True):
        if left:
            place[longest - len(row) :] = row
        else:
            place[: len(row)] = row
    return torch.from_numpy(filled)


def unsupervised(batch: Batch) -> Batch:
    """The same batch without a label: it goes forward and back and teaches nothing."""
    return {**batch, "labels": torch.full_like(batch["labels"], IGNORED)}


def _masks(rows: Sequence[Mapping[str, Any]], ids: Sequence[Numbers]) -> torch.Tensor:
    if any("attention_mask" in row for row in rows):
        ones = [{"attention_mask": np.ones(len(one), np.int64)} for one in ids]
        own = [{**one, **row} for one, row in zip(ones, rows, strict=True)]
        return pad(columns(own, "attention_mask", ids), 0)
    lengths = np.array([len(one) for one in ids])
    return torch.from_numpy((np.arange(lengths.max()) < lengths[:, None]).astype(np.int64))


def _unequal(index: int, ids: int, name: str, count: int) -> Finding:
    return UNEQUAL_ROW.finding(
        Place("batch", row=index + 1),
        f"Row {index + 1} of this batch has {ids} `input_ids` and {count} `{name}`.",
        facts=[Fact("`input_ids`", str(ids)), Fact(f"`{name}`", str(count))],
        why="Padding both to one length would pair them with the wrong tokens.",
        fixes=[Fix(f"Make `{name}` from the row's own `input_ids`, after truncation.")],
    )
