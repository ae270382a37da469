"""Padding loses no label."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefit.data.batches import PadRows, pad
from surefit.data.rows import Row, Turn
from surefit.data.templates import PLAIN, PlainTemplate
from surefit.data.tokens import IGNORED, RowTokenizer
from surefit.doctor.findings import Place
from surefit.errors import BadInput

Rows = list[dict[str, list[int]]]


@dataclass
class Ids:
    """As much of a tokenizer as a collator looks at."""

    pad_token_id: int | None
    eos_token_id: int | None = 1


@st.composite
def some_rows(draw: st.DrawFn) -> Rows:
    """Rows of random lengths; any id may occur, that of padding too."""
    rows = []
    for length in draw(st.lists(st.integers(1, 40), min_size=1, max_size=9)):
        ids = draw(st.lists(st.integers(0, 9), min_size=length, max_size=length))
        answer = draw(st.integers(0, length))
        rows.append({"input_ids": ids, "labels": [IGNORED] * answer + ids[answer:]})
    return rows


def kept(labels: list[int]) -> Counter[int]:
    return Counter(label for label in labels if label != IGNORED)


@given(rows=some_rows(), pad_id=st.integers(0, 9))
def test_the_same_labels_before_and_after(rows: Rows, pad_id: int) -> None:
    batch = PadRows(Ids(pad_id))(rows)
    before = sum((kept(row["labels"]) for row in rows), Counter[int]())
    assert kept(batch["labels"].flatten().tolist()) == before


@given(rows=some_rows(), pad_id=st.integers(0, 9))
def test_pad_id_and_0_and_ignored_at_padded_places_and_nowhere_else(
    rows: Rows, pad_id: int
) -> None:
    batch = PadRows(pad_id=pad_id)(rows)
    longest = max(len(row["input_ids"]) for row in rows)
    assert {tensor.shape for tensor in batch.values()} == {(len(rows), longest)}
    assert {tensor.dtype for tensor in batch.values()} == {torch.int64}
    for index, row in enumerate(rows):
        length = len(row["input_ids"])
        more = longest - length
        assert batch["input_ids"][index].tolist() == row["input_ids"] + [pad_id] * more
        assert batch["attention_mask"][index].tolist() == [1] * length + [0] * more
        assert batch["labels"][index].tolist() == row["labels"] + [IGNORED] * more


@given(rows=some_rows())
def test_lists_tensors_and_arrays_are_the_same(rows: Rows) -> None:
    plain = PadRows(pad_id=0)(rows)
    for make in (torch.tensor, numpy.array):
        other = PadRows(pad_id=0)([{k: make(v) for k, v in row.items()} for row in rows])
        assert all(torch.equal(plain[name], other[name]) for name in plain)


def test_a_mask_that_rows_bring_is_kept() -> None:
    rows = [
        {"input_ids": [5, 6, 7], "labels": [5, 6, 7], "attention_mask": [0, 1, 1]},
        {"input_ids": [8], "labels": [8], "attention_mask": [1]},
    ]
    assert PadRows(pad_id=0)(rows)["attention_mask"].tolist() == [[0, 1, 1], [1, 0, 0]]


@given(targets=st.lists(st.sampled_from(["Ann", "54 dollars", "Plivim Foods"]), min_size=1))
def test_every_real_eos_stays_supervised(tokenizer: Any, targets: list[str]) -> None:
    """Above all where pad is EOS."""
    to_tokens = RowTokenizer(tokenizer, PlainTemplate(PLAIN), 64)
    rows = [
        Row(number, Place("rows.jsonl"), (Turn("user", "Who? " * number), Turn("assistant", said)))
        for number, said in enumerate(targets, start=1)
    ]
    tokens = [to_tokens(row) for row in rows[:5]]
    batch = PadRows(tokenizer)([one.features() for one in tokens])
    assert int((batch["labels"] == tokenizer.eos_token_id).sum()) == len(tokens)
    assert int((batch["labels"] != IGNORED).sum()) == sum(len(one.answer) for one in tokens)
    for labels, one in zip(batch["labels"], tokens, strict=True):
        assert labels[len(one.ids) - 1] == tokenizer.eos_token_id


def test_without_a_pad_token_eos_fills() -> None:
    batch = PadRows(Ids(None, eos_token_id=7))(
        [{"input_ids": [3, 7], "labels": [3, 7]}, {"input_ids": [7], "labels": [7]}]
    )
    assert batch["input_ids"].tolist() == [[3, 7], [7, 7]]
    assert batch["labels"].tolist() == [[3, 7], [7, IGNORED]]


@pytest.mark.parametrize("labels", [[1], [1, 2, 3]])
def test_labels_of_another_length_are_refused(labels: list[int]) -> None:
    rows = [{"input_ids": [5], "labels": [5]}, {"input_ids": [5, 6], "labels": labels}]
    with pytest.raises(BadInput) as caught:
        PadRows(pad_id=0)(rows)
    (found,) = caught.value.findings
    assert found.rule == "columns-of-unequal-length"
    assert found.headline == f"Row 2 of this batch has 2 `input_ids` and {len(labels)} `labels`."


@given(rows=st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=9), min_size=1, max_size=5))
def test_left_padding_ends_every_row_at_the_same_place(rows: list[list[int]]) -> None:
    padded = pad(rows, 0, left=True)
    for place, row in zip(padded.tolist(), rows, strict=True):
        assert place[-len(row) :] == row
        assert set(place[: -len(row)]) <= {0}
