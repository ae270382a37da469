"""Token F1 and exact match as SQuAD counts them, by hand and by their laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.metrics.answers import exact_match, score, token_f1

texts = st.lists(
    st.sampled_from(["the", "A", "cat", "Cat!", "sat", "on", "mat.", ",", "42", "né"]), max_size=8
).map(" ".join)


@pytest.mark.parametrize(
    ("answer", "target", "f1"),
    [
        ("Plivim Foods", "Plivim Foods", 1),
        ("plivim foods.", "Plivim Foods", 1),
        ("The Plivim Foods", "Plivim Foods", 1),
        ("Plivim", "Plivim Foods", 2 / 3),  # precision 1, recall 1/2
        ("Plivim Foods of Vuwick", "Plivim Foods", 2 / 3),  # precision 1/2, recall 1
        ("Foods Plivim", "Plivim Foods", 1),  # no order
        ("cat cat sat", "cat sat sat", 2 / 3),  # each word as often as both have it
        ("cat cat cat cat", "cat", 2 / 5),
        ("W-681", "W681", 1),  # punctuation goes and leaves no gap
        ("54 dollars", "45 dollars", 1 / 2),
        ("Ann", "Bob", 0),
        ("", "Ann", 0),
        ("the", "Ann", 0),
        ("the", "a", 1),  # nothing is left of either
        ("", "", 1),
        ("another", "other", 0),  # articles are whole words
    ],
)
def test_f1_by_hand(answer: str, target: str, f1: float) -> None:
    assert token_f1(answer, target) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("answer", "target", "same"),
    [
        ("  the CAT!", "cat", True),
        ("cat sat", "sat cat", False),
        ("cat  sat", "cat sat", True),
        ("cat", "cats", False),
        ("", "cat", False),
    ],
)
def test_exact_match_by_hand(answer: str, target: str, same: bool) -> None:
    assert exact_match(answer, target) is same


@given(texts, texts)
def test_laws(one: str, other: str) -> None:
    assert token_f1(one, other) == token_f1(other, one)
    assert exact_match(one, other) == exact_match(other, one)
    assert 0 <= token_f1(one, other) <= 1
    assert token_f1(one, one) == 1
    assert exact_match(one, one)
    assert token_f1(f"The {one.upper()}!", other) == token_f1(one, other)
    if exact_match(one, other):
        assert token_f1(one, other) == 1


def test_every_row_counts_the_same() -> None:
    scored = score(["Ann", "cat", "one two three"], ["Ann", "cat sat", "four five six"])
    assert scored.f1 == pytest.approx((1 + 2 / 3 + 0) / 3)
    assert scored.exact_match == pytest.approx(1 / 3)
    assert scored.rows == 3


def test_no_row_has_no_score() -> None:
    with pytest.raises(ValueError, match="no row to score"):
        score([], [])


def test_an_answer_too_few_is_an_error() -> None:
    with pytest.raises(ValueError, match="longer"):
        score(["Ann"], ["Ann", "Bob"])
