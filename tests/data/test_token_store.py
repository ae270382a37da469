"""Tokens come back from their file as they went in, one by one and as features."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.data import token_store
from surefit.data.arrow_files import ArrowFile
from surefit.data.bad_rows import BadRows
from surefit.data.row import IGNORED, Row, Tokens
from surefit.data.token_store import TokenSet, TokenWriter
from surefit.data.turns import Turn
from surefit.doctor.findings import Place


@st.composite
def some_tokens(draw: st.DrawFn) -> list[Tokens]:
    """Stretches that the loss sees begin and end anywhere, at the first and last token too."""
    made = []
    for number in range(draw(st.integers(0, 9))):
        seen = draw(st.lists(st.booleans(), min_size=1, max_size=12))
        ids = [draw(st.integers(0, 2**31 - 1)) for _ in seen]
        labels = [i if is_seen else IGNORED for i, is_seen in zip(ids, seen, strict=True)]
        answer_at = draw(st.integers(0, len(ids)))
        made.append(Tokens(ids, labels, answer_at, 3 * number, draw(st.integers(0, 99))))
    return made


def rows_of(count: int) -> list[Row]:
    said = (Turn("user", "Where is Ann?"), Turn("assistant", "Rome"))
    return [Row(at, Place("rows.jsonl", line=at + 1), said) for at in range(count)]


def in_batches(tokens: list[Tokens], at_once: int, path: Path | None = None) -> TokenSet:
    with pytest.MonkeyPatch.context() as patch, TokenWriter(path) as writer:
        patch.setattr(token_store, "ROWS_AT_ONCE", at_once)
        for at, one in enumerate(tokens):
            writer.add(at, one)
        return writer.finish(rows_of(len(tokens)), BadRows())


@given(tokens=some_tokens(), at_once=st.integers(1, 4))
def test_tokens_come_back_whole_however_they_are_batched(
    tokens: list[Tokens], at_once: int
) -> None:
    made = in_batches(tokens, at_once)
    assert len(made) == len(tokens)
    assert made.tokens == tokens
    assert made.lengths.tolist() == [len(one.ids) for one in tokens]
    assert made.supervised.tolist() == [one.supervised for one in tokens]
    assert made.highest_ids.tolist() == [max(one.ids) for one in tokens]
    assert made.answer_lengths.tolist() == [len(one.answer) for one in tokens]
    assert made.cuts.tolist() == [one.cut for one in tokens]
    backwards = range(len(tokens))[::-1]
    for one, at in zip(made.features(backwards), backwards, strict=True):
        assert {name: values.tolist() for name, values in one.items()} == tokens[at].features()


@given(tokens=some_tokens(), at_once=st.integers(1, 4))
def test_the_fingerprint_is_that_of_the_tokens_and_not_of_their_batches(
    tokens: list[Tokens], at_once: int
) -> None:
    found = in_batches(tokens, at_once).fingerprint()
    assert found == in_batches(tokens, 100).fingerprint()
    for at, one in enumerate(tokens):
        if one.labels[0] == IGNORED:
            labels = [one.ids[0], *one.labels[1:]]
        else:
            labels = [IGNORED, *one.labels[1:]]
        others = [*tokens]
        others[at] = Tokens(one.ids, labels, one.answer_at, one.number)
        assert found != in_batches(others, 100).fingerprint()


def test_a_token_that_moves_to_the_next_row_changes_the_fingerprint() -> None:
    def two(at: int) -> TokenSet:
        ids = [5, 6, 7, 8]
        parts = (ids[:at], ids[at:])
        return TokenSet.of(rows_of(2), [Tokens(part, part, 0, 0) for part in parts])

    assert two(1).fingerprint() != two(2).fingerprint()


def test_rows_stand_beside_their_tokens_where_others_became_none(tmp_path: Path) -> None:
    rows = rows_of(5)
    with TokenWriter(tmp_path / "tokens.arrow") as writer:
        for at in (1, 4):
            writer.add(at, Tokens([at], [at], 0, at))
        made = writer.finish(rows, BadRows())
    again = TokenSet(rows, ArrowFile(tmp_path / "tokens.arrow"))
    for found in (made, again):
        assert found.rows == [rows[1], rows[4]]
        assert [one.number for one in found.tokens] == [1, 4]


def test_features_outlive_the_pages_they_came_from(tmp_path: Path) -> None:
    tokens = [Tokens([at] * 5, [IGNORED] * 4 + [at], 4, at) for at in range(300)]
    made = in_batches(tokens, 2, tmp_path / "tokens.arrow")
    features = made.features(range(300))
    made.file.let_go()
    assert all(one["input_ids"].tolist() == [at] * 5 for at, one in enumerate(features))
    features[0]["labels"][0] = 7
    assert made.tokens[0].labels[0] == IGNORED


def test_sums_of_lengths_do_not_overflow() -> None:
    made: Any = TokenSet.of(rows_of(1), [Tokens([1, 2], [1, 2], 0, 0)])
    assert made.lengths.dtype == made.supervised.dtype == np.int64
