"""EOS is never lost, answers are never cut, and generation sees what training saw."""

from itertools import groupby
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from surefit.data.rows import Row, Turn
from surefit.data.templates import PLAIN, PlainTemplate, Unusable
from surefit.data.tokens import IGNORED, RowTokenizer, Tokens, check_tokenizer, tokenize
from surefit.doctor.findings import Place
from surefit.errors import BadInput

WORDS = ["the", "parcel", "for", "Wenim", "P-540", "is", "54", "late.", "Öl", "東京", "🙂", "é"]
QUOTED = ["<eos>", "</s>", "<s>", "<pad>", "<|im_end|>", "[SEP]", "[CLS]"]
PLAIN_TEMPLATE = PlainTemplate(PLAIN)
NO_LIMIT = 10**6

plain_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join)
words = st.lists(st.sampled_from(WORDS + QUOTED), min_size=1, max_size=30).map(" ".join)
anything = st.text(min_size=1, max_size=60).filter(lambda text: bool(text.strip()))
texts = words | anything
limits = st.integers(1, 120)


def row_of(*said: str, system: str = "") -> Row:
    """Question, answer, question, answer..."""
    first = (Turn("system", system),) if system else ()
    turns = tuple(
        Turn("assistant" if index % 2 else "user", text) for index, text in enumerate(said)
    )
    return Row(6, Place("rows.jsonl", line=7), first + turns)


def plain(tokenizer: Any, limit: int = NO_LIMIT, *, loss_on_all: bool = False) -> RowTokenizer:
    return RowTokenizer(tokenizer, PLAIN_TEMPLATE, limit, loss_on_all)


def tokens_or_none(to_tokens: RowTokenizer, row: Row) -> Tokens | None:
    try:
        return to_tokens(row)
    except Unusable:
        return None


def alone(tokenizer: Any, target: str) -> list[int]:
    """The ids of an answer in a row whose input says nothing else, with its EOS."""
    return plain(tokenizer)(row_of("a", target)).answer


def before(tokenizer: Any) -> list[int]:
    """What the tokenizer writes before a text: BOS, `[CLS]` or nothing."""
    first = tokenizer("a")["input_ids"][:1]
    return first if first[0] in (tokenizer.bos_token_id, tokenizer.cls_token_id) else []


def answers_in(tokens: Tokens) -> list[list[int]]:
    """The supervised stretches of a row."""
    stretches = groupby(tokens.labels, lambda label: label != IGNORED)
    return [list(labels) for supervised, labels in stretches if supervised]


# EOS, target and limit


@given(text=texts, target=texts, limit=limits)
def test_the_target_is_whole_and_ends_with_eos_whatever_the_limit(
    tokenizer: Any, text: str, target: str, limit: int
) -> None:
    tokens = tokens_or_none(plain(tokenizer, limit), row_of(text, target))
    assume(tokens is not None)
    assert tokens is not None
    assert len(tokens.ids) <= limit
    assert len(tokens.ids) == len(tokens.labels)
    assert tokens.labels[-1] == tokenizer.eos_token_id
    assert tokens.answer == alone(tokenizer, target)
    assert tokens.ids[: tokens.answer_at] + tokens.answer == tokens.ids


@given(text=texts, target=texts, limit=limits)
def test_the_loss_sees_the_target_and_nothing_of_the_prompt(
    tokenizer: Any, text: str, target: str, limit: int
) -> None:
    tokens = tokens_or_none(plain(tokenizer, limit), row_of(text, target))
    assume(tokens is not None)
    assert tokens is not None
    assert tokens.labels[: tokens.answer_at] == [IGNORED] * tokens.answer_at
    assert tokens.labels[tokens.answer_at :] == tokens.answer
    assert tokens.supervised == len(tokens.answer)


@given(text=texts, target=texts, limit=limits)
def test_loss_on_all_sees_every_token_that_has_a_prediction(
    tokenizer: Any, text: str, target: str, limit: int
) -> None:
    tokens = tokens_or_none(plain(tokenizer, limit, loss_on_all=True), row_of(text, target))
    assume(tokens is not None)
    assert tokens is not None
    assert tokens.labels[1:] == tokens.ids[1:]
    assert tokens.supervised == len(tokens.ids) - 1


@given(text=words, target=words)
def test_the_target_is_what_the_tokenizer_makes_of_it(
    tokenizer: Any, text: str, target: str
) -> None:
    assume(not any(name in target for name in QUOTED))
    ids = tokenizer(f" {target}", add_special_tokens=False)["input_ids"]
    tokens = plain(tokenizer)(row_of(text, target))
    assert tokens.answer == [*ids, tokenizer.eos_token_id]


# Truncation


@given(text=plain_words, target=st.sampled_from(WORDS), limit=limits)
@example(text="the parcel " * 40, target="late.", limit=40)
def test_truncation_keeps_the_template_and_the_end_of_the_input(
    tokenizer: Any, text: str, target: str, limit: int
) -> None:
    tokens = tokens_or_none(plain(tokenizer, limit), row_of(text, target))
    assume(tokens is not None)
    assert tokens is not None
    kept = plain(tokenizer)(row_of(text[tokens.cut :], target))
    assert tokens.prompt == kept.prompt
    template = tokenizer("\nAnswer:", add_special_tokens=False)["input_ids"]
    assert tokens.prompt[-1] == template[-1]
    assert tokens.prompt[: len(before(tokenizer))] == before(tokenizer)
    # Whole tokens go, none of these words is longer than one of 12 letters.
    more = plain(tokenizer)(row_of(text[max(0, tokens.cut - 12) :], target))
    assert not tokens.cut or len(more.ids) > limit, "more of it would have fitted"


@given(text=texts, target=texts, limit=st.integers(1, 40))
@example(text="Who?", target="the parcel " * 30, limit=40)
def test_a_target_that_does_not_fit_is_named_and_never_cut(
    tokenizer: Any, text: str, target: str, limit: int
) -> None:
    least = plain(tokenizer)(row_of(text[-1:], target))
    assume(len(least.ids) > limit)
    assume(len(plain(tokenizer)(row_of(text, target)).ids) > limit)
    tokens = tokens_or_none(plain(tokenizer, limit), row_of(text, target))
    if tokens is not None:  # two letters can be fewer tokens than one
        assert tokens.answer == alone(tokenizer, target)
        return
    with pytest.raises(Unusable) as caught:
        plain(tokenizer, limit)(row_of(text, target))
    bad = caught.value.bad
    assert bad.rule.name == "target-too-long"
    assert bad.place == Place("rows.jsonl", line=7)
    assert f"{limit} tokens" in bad.headline
    assert f"{len(alone(tokenizer, target))} in the target with its EOS" in bad.facts[1].value


@given(text=plain_words, target=plain_words, spare=st.integers(0, 40))
def test_a_row_is_not_refused_if_the_last_word_of_its_input_fits(
    tokenizer: Any, text: str, target: str, spare: int
) -> None:
    least = len(plain(tokenizer)(row_of(f" {text.split()[-1]}", target)).ids)
    tokens = plain(tokenizer, least + spare)(row_of(text, target))
    assert tokens.answer == alone(tokenizer, target)


def test_the_fix_for_a_target_too_long_works(small_tokenizer: Any) -> None:
    row = row_of("Who brought it here?", "Plivim Foods " * 20)
    with pytest.raises(Unusable) as caught:
        plain(small_tokenizer, 30)(row)
    advice = caught.value.bad.fixes[0].text
    limit = int(advice.rpartition(" ")[2])
    assert plain(small_tokenizer, limit)(row).cut == 0


@given(said=st.lists(words, min_size=3, max_size=3), limit=limits)
def test_rows_that_fit_are_kept_beside_those_that_do_not(
    small_tokenizer: Any, said: list[str], limit: int
) -> None:
    rows = [row_of("Who?", target) for target in said]
    called: list[int] = []
    made = tokenize(rows, plain(small_tokenizer, limit), called.append)
    assert len(made) == len(made.rows) == len(made.tokens)
    assert len(made) + len(made.bad) == sum(called) == len(rows)
    for row, tokens in zip(made.rows, made.tokens, strict=True):
        assert tokens.answer == alone(small_tokenizer, row.target)


@given(
    said=st.lists(st.lists(texts, min_size=2, max_size=4), min_size=1, max_size=6),
    limit=st.integers(5, 80),
    loss_on_all=st.booleans(),
    parses_special_tokens=st.booleans(),
)
def test_many_rows_at_once_are_what_they_are_one_by_one(
    tokenizer: Any,
    said: list[list[str]],
    limit: int,
    loss_on_all: bool,
    parses_special_tokens: bool,
) -> None:
    rows = [row_of(*turns[: len(turns) // 2 * 2]) for turns in said]
    template = PlainTemplate(PLAIN, parses_special_tokens)
    by = RowTokenizer(tokenizer, template, limit, loss_on_all)
    one_by_one = [tokens_or_none(by, row) for row in rows]
    found = list(by.many(rows))
    assert [one if isinstance(one, Tokens) else None for one in found] == one_by_one
    made = tokenize(rows, by)
    assert made.tokens == [one for one in one_by_one if one is not None]
    assert len(made.bad) == one_by_one.count(None)


# Names of special tokens in the text


@given(text=texts, target=texts, name=st.sampled_from(["eos", "pad", "bos", "cls"]))
def test_a_quoted_special_token_stays_text(
    tokenizer: Any, text: str, target: str, name: str
) -> None:
    token = getattr(tokenizer, f"{name}_token")
    assume(token is not None)
    tokens = plain(tokenizer)(row_of(f"{text} {token} {text}", f"{target} {token}"))
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    start = len(before(tokenizer))
    assert not special & set(tokens.ids[start:-1])
    assert tokens.ids[-1] == tokenizer.eos_token_id


@pytest.mark.parametrize("quoted", ["<eos>", "a <eos>", "<eos> <eos>", "<eos><pad>b"])
def test_a_quoted_special_token_can_be_read_back(small_tokenizer: Any, quoted: str) -> None:
    tokens = plain(small_tokenizer)(row_of(f"Say {quoted}", quoted))
    said = small_tokenizer.decode(tokens.answer[:-1], skip_special_tokens=True)
    assert said == f" {quoted}"
    as_text = small_tokenizer(f" {quoted}", split_special_tokens=True)["input_ids"]
    assert tokens.answer == [*as_text, small_tokenizer.eos_token_id]


# Several turns


@given(
    said=st.lists(words, min_size=2, max_size=8).filter(lambda said: len(said) % 2 == 0),
    system=st.sampled_from(["", "Be brief."]),
    limit=st.integers(20, 400),
)
def test_the_oldest_exchanges_go_first_and_no_answer_is_halved(
    tokenizer: Any, said: list[str], system: str, limit: int
) -> None:
    tokens = tokens_or_none(plain(tokenizer, limit), row_of(*said, system=system))
    assume(tokens is not None)
    assert tokens is not None
    assert len(tokens.ids) <= limit
    stretches = answers_in(tokens)
    wanted = said[1::2][-len(stretches) :]
    assert stretches == [alone(tokenizer, answer) for answer in wanted]
    assert tokens.answer == stretches[-1]
    dropped = sum(map(len, said[: len(said) - 2 * len(stretches)]))
    assert tokens.cut >= dropped
    if len(stretches) > 1:
        assert tokens.cut == dropped, "a question was cut though an exchange was left to drop"
    kept = said[len(said) - 2 * len(stretches) :]
    kept[-2] = kept[-2][tokens.cut - dropped :]
    assert tokens.ids == plain(tokenizer)(row_of(*kept, system=system)).ids


@pytest.mark.parametrize("limit", [30, 60, 100, 160])
def test_no_answer_is_left_without_a_question(small_tokenizer: Any, limit: int) -> None:
    asked = Turn("user", "Where is the parcel of Wenim, and who brought it here? " * 3)
    said = (Turn("assistant", "It is here."), Turn("assistant", "Plivim Foods did."))
    row = Row(0, Place("rows.jsonl", line=1), (asked, *said))
    tokens = plain(small_tokenizer, limit)(row)
    assert len(tokens.ids) <= limit
    prompt = small_tokenizer.decode(tokens.prompt)
    assert "Answer:" in prompt
    assert answers_in(tokens)[0] == alone(small_tokenizer, "It is here.")


# Tokenizers


def test_a_tokenizer_without_eos_is_refused(tokenizer_without_eos: Any) -> None:
    with pytest.raises(BadInput) as caught:
        check_tokenizer(tokenizer_without_eos, "minilm")
    (found,) = caught.value.findings
    assert found.rule == "no-end-token"
    assert "`minilm`" in found.headline
    assert "[SEP]" in found.facts[0].value


def test_a_tokenizer_without_pad_is_refused_with_a_way_out() -> None:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    model = Tokenizer(models.WordLevel({"<eos>": 0, "a": 1}, unk_token="<eos>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=model, eos_token="<eos>")
    with pytest.raises(BadInput) as caught:
        check_tokenizer(tokenizer, "words")
    (found,) = caught.value.findings
    assert found.rule == "no-pad-token"
    assert found.fixes[0].text.endswith("--pad-token '<eos>'")


def test_the_real_tokenizers_pass(tokenizer: Any) -> None:
    check_tokenizer(tokenizer, "real")


def test_features_are_what_a_collator_wants(small_tokenizer: Any) -> None:
    tokens = plain(small_tokenizer)(row_of("Who?", "Ann"))
    assert tokens.features() == {"input_ids": tokens.ids, "labels": tokens.labels}
    assert tokens.number == 6
