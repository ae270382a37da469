"""Texts lose no token on their way to rows, and only what has a place before it is supervised."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surefit.data.row import IGNORED, Row
from surefit.data.text_tokens import tokenize_texts
from surefit.data.turns import Turn
from surefit.doctor.findings import Place


def row(number: int, text: str) -> Row:
    place = Place("some.txt", line=number + 1)
    return Row(number, place, (Turn("user", text), Turn("assistant", "")))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    words=st.lists(st.integers(1, 60), min_size=1, max_size=5),
    most=st.integers(8, 40),
)
def test_pieces_are_the_text(small_tokenizer: Any, words: list[int], most: int) -> None:
    texts = [" ".join(["word"] * count) for count in words]
    rows = [row(number, text) for number, text in enumerate(texts)]
    made = tokenize_texts(rows, small_tokenizer, most)
    eos = small_tokenizer.eos_token_id
    for number, text in enumerate(texts):
        pieces = [one.ids for one in made.tokens if one.number == number]
        whole = [*small_tokenizer(text, add_special_tokens=False)["input_ids"], eos]
        joined = [token for piece in pieces for token in piece]
        # One token that is left over has nothing before it to be predicted from.
        left = len(whole) % most if len(whole) > most else 0
        assert joined == (whole[:-1] if left == 1 else whole)
        assert all(2 <= len(piece) <= most for piece in pieces)
    for one in made.tokens:
        assert one.labels == one.ids
        assert one.supervised == len(one.ids) - 1
        assert 1 <= one.answer_at <= len(one.ids) - 1 or len(one.ids) == 2
        assert made.rows[0].place.line == 1


def test_the_name_of_a_special_token_is_text(small_tokenizer: Any) -> None:
    made = tokenize_texts([row(0, f"a {small_tokenizer.eos_token} b")], small_tokenizer, 64)
    (one,) = made.tokens
    assert one.ids.count(small_tokenizer.eos_token_id) == 1
    assert one.ids[-1] == small_tokenizer.eos_token_id
    assert IGNORED not in one.labels
