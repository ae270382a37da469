"""Twins are found, and nothing but twins."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefit.data import duplicates, rare_shingles
from surefit.data.duplicates import SIMILAR, SMALL, groups, similarity
from surefit.data.rows import Row, Turn
from surefit.data.shingles import codes, plain, shingles
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


@st.composite
def rows_of_many_kinds(draw: st.DrawFn) -> list[Row]:
    """Few answers; rows of one template, twins with a few letters changed, equal ones, others."""
    chance = random.Random(draw(st.integers(0, 10**6)))
    template = sentence(chance, draw(st.integers(0, 25)))
    made: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(1, 30))):
        text = f"{template} {sentence(chance, draw(st.integers(0, 8)))}"
        if made and chance.random() < 0.4:
            text = chance.choice(made)[0]
            for _ in range(chance.randrange(4)):
                at = chance.randrange(len(text) + 1)
                text = f"{text[:at]}{chance.choice('xyz 東🙂')}{text[at:]}"
        made.append((text, chance.choice(["yes", "YES ", "no", "no one"])))
    return rows_of(*made)


@settings(deadline=None, max_examples=60)
@given(rows=rows_of_many_kinds(), small=st.integers(1, 16), large=st.integers(1, 40))
def test_groups_are_those_of_all_pairs_whatever_is_compared_how(
    rows: list[Row], small: int, large: int
) -> None:
    wanted: dict[str, list[int]] = {}
    for one in rows:
        wanted.setdefault(plain(one.target), []).append(one.number)
    by_pairs = [
        [places[at] for at in group]
        for places in wanted.values()
        for group in by_all_pairs([rows[place].input for place in places])
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicates, "SMALL", small)
        patch.setattr(duplicates, "LARGE", large)
        patch.setattr(duplicates, "ROWS_AT_ONCE", 7)
        patch.setattr(rare_shingles, "ROWS_AT_ONCE", 3)
        patch.setattr(rare_shingles, "ENTRIES_AT_ONCE", 50)
        patch.setattr(rare_shingles, "COUNTERS", 64)
        found = groups(rows)
    assert found == sorted(by_pairs)


def test_every_row_is_told_of_once() -> None:
    told: list[int] = []
    groups(rows_of(*((LONG[at % 7 :], f"{at % 30}") for at in range(100))), told.append)
    assert sum(told) == 100


@given(st.lists(st.text(max_size=12), min_size=1, max_size=5))
def test_codes_tell_shingles_apart(texts: list[str]) -> None:
    flat, bounds = codes(texts)
    known: dict[int, str] = {}
    for text, begin, end in zip(texts, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        in_order = [text[at : at + 4] for at in range(max(1, len(text) - 3))]
        assert set(in_order) == shingles(text)
        for code, shingle in zip(flat[begin:end].tolist(), in_order, strict=True):
            padded = shingle.ljust(4, "\0")
            assert known.setdefault(code, padded) == padded
    assert len(known) == len(set(known.values()))
