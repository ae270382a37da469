"""Augmentation counts exactly, repeats itself, and leaves the answer in the input alone."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefit.data.augment import augment
from surefit.data.rows import Row, Turn
from surefit.doctor.findings import Place
from surefit.errors import BadInput, WrongCall

WORDS = st.text("abcdeéßABC.,'-(9", min_size=1, max_size=8)
TEXTS = st.lists(WORDS, min_size=1, max_size=25)


def row(number: int, text: str, target: str) -> Row:
    turns = (Turn("user", text), Turn("assistant", target))
    return Row(number, Place("rows.jsonl", line=number + 1), turns)


@st.composite
def rows_with_targets(draw: st.DrawFn) -> Row:
    """The target is a stretch of the input, cut anywhere, or words of its own."""
    text = draw(st.sampled_from([" ", "  ", "\n"])).join(draw(TEXTS))
    begin = draw(st.integers(0, len(text) - 1))
    cut = text[begin : begin + draw(st.integers(1, 12))]
    target = draw(st.sampled_from([cut, " ".join(draw(TEXTS))]))
    return row(draw(st.integers(0, 9)), text, target if target.strip() else text)


def words_with(text: str, target: str) -> list[str]:
    """The words of a text that are, hold or are part of a word of the target."""
    kept = [word.casefold() for word in target.split()]
    return [w for w in text.split() if any(k in w.casefold() or w.casefold() in k for k in kept)]


@settings(deadline=None)
@given(rows_with_targets(), st.integers(0, 99))
def test_words_of_the_target_are_never_touched(original: Row, seed: int) -> None:
    for copy in augment([original], 4, seed)[1:]:
        assert (original.target in original.input) <= (original.target in copy.input)
        assert words_with(copy.input, original.target) == words_with(
            original.input, original.target
        )


@settings(deadline=None)
@given(rows_with_targets(), st.integers(0, 99))
def test_words_are_neither_merged_nor_lost_nor_moved(original: Row, seed: int) -> None:
    for copy in augment([original], 3, seed)[1:]:
        before, after = original.input.split(), copy.input.split()
        assert len(before) == len(after)
        for old, new in zip(before, after, strict=True):
            assert old == new or (abs(len(old) - len(new)) <= 1 or old.casefold() == new.casefold())
            assert old == new or not any(letter.isdigit() for letter in old)
            assert old == new or sum(letter.isalpha() for letter in old) >= 4


@settings(deadline=None)
@given(st.lists(rows_with_targets(), max_size=6), st.integers(1, 5), st.integers(0, 99))
def test_counts_are_exact_and_copies_depend_on_nothing_else(
    rows: list[Row], factor: int, seed: int
) -> None:
    made = augment(rows, factor, seed)
    assert len(made) == len(rows) * factor
    assert list(made[::factor]) == rows
    assert made == augment(rows, factor, seed)
    for at, original in enumerate(rows):
        assert made[at * factor : (at + 1) * factor] == augment([original], factor, seed)
        for copy in made[at * factor : (at + 1) * factor]:
            assert (copy.number, copy.place) == (original.number, original.place)
            assert copy.target == original.target


SENTENCE = "Please send the yellow parcel to Marguerite Dubois before the end of this month"


def test_900_rows_at_factor_3_are_2700() -> None:
    rows = [row(number, SENTENCE, "Marguerite Dubois") for number in range(900)]
    assert len(augment(rows, 3, seed=0)) == 2700


def test_a_copy_differs_and_another_seed_differs_again() -> None:
    original = row(0, SENTENCE, "Marguerite Dubois")
    one, other = (augment([original], 2, seed)[1].input for seed in (0, 1))
    assert len({SENTENCE, one, other}) == 3


def test_about_one_word_in_twelve_is_changed() -> None:
    words = [f"{letter}ountain" for letter in "abcdefghijklmnopqrstuvwx"]
    copy = augment([row(0, " ".join(words), "y")], 2, seed=0)[1]
    changed = sum(1 for old, new in zip(words, copy.input.split(), strict=True) if old != new)
    doubled = copy.input.count("  ")
    assert changed + doubled == 2


def test_a_change_never_makes_a_word_of_the_target() -> None:
    texts = {copy.input for copy in augment([row(0, "marry", "Mary")], 300, seed=0)}
    assert len(texts) > 3
    assert "mary" not in {text.casefold() for text in texts}


def test_a_word_keeps_its_first_and_last_letter() -> None:
    texts = {copy.input.casefold() for copy in augment([row(0, "never", "x")], 300, seed=0)}
    assert all(re.fullmatch(r"n.*r", text) for text in texts)
    assert len(texts) > 3


def test_an_input_that_offers_nothing_is_copied_as_it_is() -> None:
    assert augment([row(0, "a 1999x of", "b")], 2, seed=0)[1].input == "a 1999x of"


def test_only_the_last_turn_of_the_user_is_changed() -> None:
    turns = (
        Turn("system", "Answer with a single word"),
        Turn("user", "Something different entirely"),
        Turn("assistant", "Understood"),
        Turn("user", "Which colour has the yellow submarine"),
        Turn("assistant", "blue"),
    )
    copy = augment([Row(7, Place("rows.jsonl", line=8), turns)], 2, seed=0)[1]
    assert copy.turns[:3] + copy.turns[4:] == turns[:3] + turns[4:]
    assert copy.turns[3].role == "user"
    assert copy.turns[3].text != turns[3].text


# A user's own function


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A module of the user's in the folder they are in; its name differs from test to test."""
    name = "noise_" + re.sub(r"\W", "_", request.node.name)
    (tmp_path / f"{name}.py").write_text(
        "def add_number(text, target, random):\n"
        "    return f'{text} {target} {random.randrange(10**9)}'\n"
        "def fail(text, target, random):\n    raise KeyError('colour')\n"
        "def number(text, target, random):\n    return 3\n"
        "def empty(text, target, random):\n    return ' '\n"
        "CONSTANT = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    return name


def test_a_users_function_gets_input_target_and_chance_of_its_own(here: str) -> None:
    rows = [row(0, "hello", "x"), row(1, "there", "y")]
    made = augment(rows, 3, 0, with_=f"{here}:add_number")
    assert made == augment(rows, 3, 0, with_=f"{here}:add_number")
    assert [copy.input.rsplit(" ", 1)[0] for copy in made] == [
        *("hello", "hello x", "hello x"),
        *("there", "there y", "there y"),
    ]
    assert len({copy.input for copy in made}) == 6


def refused_call(name: str) -> tuple[str, str, str]:
    with pytest.raises(WrongCall) as refused:
        augment([row(0, "hello", "x")], 2, 0, with_=name)
    (finding,) = refused.value.findings
    return finding.rule, finding.headline, finding.python_said


def test_a_module_that_is_not_there_is_named_with_what_import_said() -> None:
    rule, headline, said = refused_call("no_such_module_here:noise")
    assert rule == "augmentation-not-importable"
    assert headline == (
        "The module `no_such_module_here` of `no_such_module_here:noise` cannot be imported."
    )
    assert said == "ModuleNotFoundError: No module named 'no_such_module_here'"


def test_a_module_that_fails_is_named_with_what_it_said(here: str, tmp_path: Path) -> None:
    (tmp_path / f"{here}_b.py").write_text("1 / 0\n")
    rule, _, said = refused_call(f"{here}_b:noise")
    assert (rule, said) == ("augmentation-not-importable", "ZeroDivisionError: division by zero")


def test_a_name_without_a_function_is_refused() -> None:
    rule, headline, _ = refused_call("random")
    assert rule == "augmentation-not-importable"
    assert headline == "`random` is not of the form `module:function`."


@pytest.mark.parametrize("function", ["add_nunber", "CONSTANT"])
def test_a_function_that_is_not_there_is_named(here: str, function: str) -> None:
    rule, headline, _ = refused_call(f"{here}:{function}")
    assert rule == "no-such-augmentation"
    assert f"`{here}` has no function `{function}`." in headline
    assert ("The nearest name is `add_number`." in headline) == (function == "add_nunber")


@pytest.mark.parametrize(
    ("function", "rule", "said"),
    [
        ("fail", "augmentation-failed", "raised `KeyError` on this row"),
        ("number", "augmentation-not-text", "gave back a value of type `int` for this row"),
        ("empty", "augmentation-not-text", "gave back an empty text for this row"),
    ],
)
def test_a_function_that_gives_no_prompt_is_named_with_the_row(
    here: str, function: str, rule: str, said: str
) -> None:
    with pytest.raises(BadInput) as refused:
        augment([row(4, "hello", "x")], 2, 0, with_=f"{here}:{function}")
    (finding,) = refused.value.findings
    assert (finding.rule, str(finding.place)) == (rule, "rows.jsonl:5")
    assert f"`{here}:{function}` {said}" in finding.headline
    assert ("input", "hello") in {(fact.name, fact.value) for fact in finding.facts}


def test_global_randomness_is_not_moved() -> None:
    before = random.getstate()
    augment([row(0, SENTENCE, "Dubois")], 5, seed=0)
    assert random.getstate() == before
