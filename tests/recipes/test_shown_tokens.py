"""Rows as the page shows them: every token's text, and which of them the loss sees."""

from typing import Any

import numpy as np
import pytest

from surefit.data.order import padding_waste
from surefit.data.row import Row
from surefit.data.templates import choose_template
from surefit.data.tokens import RowTokenizer, TokenSet, tokenize
from surefit.data.turns import Turn
from surefit.doctor.findings import Place
from surefit.recipes.sft_settings import LoraSft
from surefit.recipes.shown_tokens import (
    MOST_TOKENS,
    decoded,
    histogram,
    shown_tokens,
    spans,
    texts_of,
)
from surefit.recipes.token_rows import Prepared


def tokens_of(tokenizer: Any, *pairs: tuple[str, str], most: int = 4096) -> TokenSet:
    rows = [
        Row(number, Place("rows.jsonl", number + 1), (Turn("user", asked), Turn("assistant", told)))
        for number, (asked, told) in enumerate(pairs)
    ]
    return tokenize(rows, RowTokenizer(tokenizer, choose_template("plain", tokenizer), most))


@pytest.mark.parametrize(
    "text", ["Who came?", "naïve 🙂🙃 日本語", "  two  spaces\n\nlines\t<eos>"]
)
def test_texts_of_tokens_together_are_the_text(tokenizer: Any, text: str) -> None:
    tokens = tokens_of(tokenizer, (text, text)).tokens[0]
    texts = texts_of(tokens.ids, tokenizer)
    assert len(texts) == len(tokens.ids)
    assert "".join(texts) == decoded(tokens.ids, tokenizer)


def test_what_the_loss_sees_is_marked(small_tokenizer: Any) -> None:
    tokens = tokens_of(small_tokenizer, ("Who came?", "Mara")).tokens[0]
    shown = spans(tokens, small_tokenizer)
    supervised = "".join(span.text for span in shown if span.supervised)
    assert supervised == f" Mara{small_tokenizer.eos_token}"
    assert "".join(span.text for span in shown if not span.supervised) == "Who came?\nAnswer:"


def test_of_a_long_row_beginning_and_end_are_shown(small_tokenizer: Any) -> None:
    tokens = tokens_of(small_tokenizer, ("word " * 600, "Mara")).tokens[0]
    shown = spans(tokens, small_tokenizer)
    assert len(shown) == MOST_TOKENS + 1
    assert f"{len(tokens.ids) - MOST_TOKENS:,} more tokens" in shown[MOST_TOKENS // 2].text
    assert shown[-1].text == small_tokenizer.eos_token


def test_lengths_and_shares(small_tokenizer: Any) -> None:
    training = tokens_of(
        small_tokenizer, ("a", "b"), ("a longer question, is it?", "yes"), ("a", "b")
    )
    held_out = tokens_of(small_tokenizer, ("c", "d"))
    lengths = training.lengths.tolist()
    shown = shown_tokens(
        LoraSft(),
        Prepared(training, held_out, "plain"),
        small_tokenizer,
        [[0, 1, 2]],
        {"rows": "f"},
    )
    assert shown.supervised_share == training.supervised.sum() / sum(lengths)
    assert shown.padding_share == padding_waste(lengths, [[0, 1, 2]]) > 0
    assert [sum(part.counts) for part in shown.lengths] == [3, 1]
    assert [row.place for row in shown.rows] == [f"rows.jsonl:{line}" for line in (1, 2, 3)]
    assert "the longest row" in shown.rows[1].note


def test_every_row_is_in_a_bar() -> None:
    for low, high in ((5, 5), (1, 40), (10, 2000), (0, 63)):
        lengths = np.arange(low, high + 1)
        made = histogram("rows", lengths)
        assert sum(made.counts) == len(lengths)
        assert made.edges[0] == low
        assert len(made.counts) == len(made.edges) - 1 <= 33
