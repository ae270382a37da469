"""Twins are found, and nothing but twins."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefit.data.duplicates import SIMILAR, SMALL, groups, similarity
from surefit.data.rows import Row, Turn
from surefit.doctor.findings import Place

LONG = (
    "The parcel was sent from the warehouse in the north on the first working day of the month, "
    "and the driver left a note at the door because nobody was at home to sign for it."
)


def row(number: int, text: str, target: str) -> Row:
    turns = (Turn("user", text), Turn("assistant", target))
    return Row(number, Place("rows.jsonl", line=number + 1), turns)


def rows_of(*pairs: tuple[str, str]) -> list[Row]:
    return [row(number, text, target) for number, (text, target) in enumerate(pairs)]


def sentence(chance: random.Random, words: int) -> str:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return " ".join("".join(chance.choices(letters, k=chance.randint(2, 9))) for _ in range(words))


def test_equal_rows_are_twins() -> None:
    assert groups(rows_of(("a b c", "x"), ("other", "x"), ("a b c", "x"))) == [[0, 2]]


def test_case_and_white_space_make_no_difference() -> None:
    assert groups(rows_of(("Where is  Ann?", "Rome"), ("where is ann?\n", "rome "))) == [[0, 1]]


def test_one_changed_word_in_a_long_input_leaves_it_a_twin() -> None:
    assert groups(rows_of((LONG, "x"), (LONG.replace("door", "gate"), "x"))) == [[0, 1]]


def test_another_answer_makes_no_twin() -> None:
    assert groups(rows_of((LONG, "x"), (LONG, "y"))) == []


def test_short_inputs_that_differ_are_no_twins() -> None:
    assert groups(rows_of(("a", "x"), ("b", "x"), ("ab", "x"))) == []


def test_no_rows_have_no_twins() -> None:
    assert groups([]) == []


def test_twins_of_twins_are_in_one_group() -> None:
    chain = [LONG, LONG + " It rained.", LONG + " It rained. He left."]
    assert similarity(chain[0], chain[2]) < SIMILAR
    assert groups(rows_of(*((text, "x") for text in chain))) == [[0, 1, 2]]


@pytest.mark.parametrize("variable_words", [1, 4, 6])
def test_large_buckets_group_as_all_pairs_would(variable_words: int) -> None:
    """Rows of one template and one answer: nearly all are candidates for one another."""
    chance = random.Random(variable_words)
    texts = [f"{LONG} {LONG[::-1]} {sentence(chance, variable_words)}" for _ in range(SMALL * 5)]
    rows = rows_of(*((text, "x") for text in texts))
    assert groups(rows) == by_all_pairs(texts)


def by_all_pairs(texts: list[str]) -> list[list[int]]:
    parts = [{at} for at in range(len(texts))]
    for one in range(len(texts)):
        for other in range(one):
            if similarity(texts[one], texts[other]) >= SIMILAR:
                joined = [part for part in parts if part & {one, other}]
                parts = [part for part in parts if part not in joined] + [set().union(*joined)]
    return sorted(sorted(part) for part in parts if len(part) > 1)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 3))
def test_groups_are_those_of_the_exact_measure(seed: int, edits: int) -> None:
    """Near the threshold from both sides; the chance of a missed pair is below 1 in 1000."""
    chance = random.Random(seed)
    texts = [sentence(chance, 14) for _ in range(4)]
    for text in list(texts):
        at = [chance.randrange(len(text)) for _ in range(edits)]
        texts.append("".join("q" if place in at else letter for place, letter in enumerate(text)))
    found = groups(rows_of(*((text, "x") for text in texts)))
    assert all(
        max(similarity(texts[one], texts[other]) for other in group if other != one) >= SIMILAR
        for group in found
        for one in group
    )
    assert found == by_all_pairs(texts)


def test_the_order_of_other_rows_makes_no_difference() -> None:
    chance = random.Random(3)
    texts = [sentence(chance, 20) for _ in range(30)]
    texts += [text + " again" for text in texts[:10]]
    forward = groups(rows_of(*((text, "x") for text in texts)))
    backward = groups(rows_of(*((text, "x") for text in reversed(texts))))
    last = len(texts) - 1
    assert forward == [[at, at + 30] for at in range(10)]
    assert sorted(sorted(last - at for at in group) for group in backward) == forward
