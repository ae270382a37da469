"""What the embedded rows and tokenizer promise, checked on the files that ship."""

import json
import re
from collections import Counter
from itertools import islice

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from surefit.embedded import MODEL, ROWS
from tools.embedded import task, text
from tools.embedded.names import Part, invented_words, part_of
from tools.embedded.text import Writer
from tools.embedded.words import WORDS

DOCUMENTS = 20_000
ORDINARY = re.compile(r"\{\w+\}")


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    return [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def documents() -> list[str]:
    return list(islice(Writer(seed=123).documents(), DOCUMENTS))


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    loaded = AutoTokenizer.from_pretrained(MODEL)
    assert isinstance(loaded, PreTrainedTokenizerFast)
    return loaded


def test_there_are_a_thousand_rows_of_input_and_target(rows: list[dict[str, str]]) -> None:
    assert len(rows) == 1000
    assert all(set(row) == {"input", "target"} for row in rows)
    assert len({row["input"] for row in rows}) == 1000


def test_every_target_stands_once_in_its_message(rows: list[dict[str, str]]) -> None:
    for row in rows:
        message, question = row["input"].split("\n")
        assert len(re.findall(rf"(?<!\w){re.escape(row['target'])}(?!\w)", message)) == 1
        assert row["target"] not in question


def test_no_invented_name_is_in_two_rows(rows: list[dict[str, str]]) -> None:
    counts = Counter(word for row in rows for word in set(invented_words(row["input"])))
    assert len(counts) > 4000
    assert max(counts.values()) == 1


def test_every_capital_in_a_row_is_ordinary_or_invented(rows: list[dict[str, str]]) -> None:
    """Nothing looks like a name and escapes the syllable rule."""
    templates = " ".join(
        wording
        for kind in task.KINDS
        for wordings in [*kind.tell, *kind.ask.values()]
        for wording in wordings
    )
    known = set(re.findall(r"[A-Za-z]+", ORDINARY.sub(" ", templates)))
    known |= {*WORDS["months"], *WORDS["company ends"]}
    for row in rows:
        left = set(re.findall(r"\b[A-Z][a-z]+\b", row["input"])) - known
        assert left == set(invented_words(row["input"]))


def test_ordinary_words_are_never_taken_for_names() -> None:
    kinds = [*task.KINDS, *text.KINDS]
    wordings = [w for kind in kinds for some in [*kind.tell, *kind.ask.values()] for w in some]
    words = re.findall(r"[a-z]+", ORDINARY.sub(" ", " ".join(wordings)).lower())
    assert invented_words(" ".join(word.capitalize() for word in words)) == []


def test_names_of_rows_are_not_in_the_pretraining_text(
    rows: list[dict[str, str]], documents: list[str]
) -> None:
    of_rows = {word for row in rows for word in invented_words(row["input"])}
    of_text = {word for document in documents for word in invented_words(document)}
    assert len(of_text) > 10_000
    assert not of_rows & of_text
    # not by luck: the two draw from parts that share no word
    assert {part_of(word) for word in of_rows} == {Part.ROWS}
    assert {part_of(word) for word in of_text} == {Part.PRETRAINING}


def test_the_task_is_not_in_the_pretraining_text(documents: list[str]) -> None:
    questions = {q for kind in task.KINDS for some in kind.ask.values() for q in some}
    sentences = {w for kind in task.KINDS for some in kind.tell for w in some}
    assert not sentences & {w for kind in text.KINDS for some in kind.tell for w in some}
    for document in documents:
        before, found, _ = document.partition("\nAnswer:")
        assert not found or before.rsplit("\n", 1)[-1] not in questions


def test_no_answer_is_frequent(rows: list[dict[str, str]]) -> None:
    assert Counter(row["target"] for row in rows).most_common(1)[0][1] <= 5


def test_padding_is_not_the_end(tokenizer: PreTrainedTokenizerFast) -> None:
    assert (tokenizer.pad_token_id, tokenizer.eos_token_id) == (0, 1)
    assert tokenizer.padding_side == "right"


def test_every_digit_is_a_token(tokenizer: PreTrainedTokenizerFast) -> None:
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("in 2048, 17 of 3956")["input_ids"])
    assert [token for token in tokens if any(c.isdigit() for c in token)] == list("2048173956")


def test_text_survives_the_tokenizer(
    tokenizer: PreTrainedTokenizerFast, rows: list[dict[str, str]]
) -> None:
    for sample in [row["input"] for row in rows] + ["  two  spaces\n\ttab", "naïve – 漢字 🙂", ""]:
        assert tokenizer.decode(tokenizer(sample)["input_ids"]) == sample
