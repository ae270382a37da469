"""An inspection counts what a person would count; here every character is a token."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from surefit.data.inspect_rows import (
    MOST_BINS,
    Tokenized,
    examples,
    histogram,
    inspect_rows,
    tokenize_within,
)
from surefit.data.inspection import (
    Bin,
    Inspection,
    Lengths,
    Limit,
    LimitCost,
    Padding,
    Part,
    SpecialNames,
)
from surefit.data.rows import Row, RowSet, Turn
from surefit.data.split import split
from surefit.data.templates import PLAIN, PlainTemplate
from surefit.data.tokens import RowTokenizer
from surefit.doctor.findings import Place
from surefit.metrics.answers import token_f1


def _bytes() -> PreTrainedTokenizerFast:
    """A tokenizer whose tokens are bytes."""
    vocabulary = {byte: at for at, byte in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", pad_token="<pad>")


BYTES = _bytes()


def decode(ids: list[int]) -> str:
    return str(BYTES.decode(ids))


def row_set(*pairs: tuple[str, str], skipped: int = 0) -> RowSet:
    return conversations(*(_turns(asked, answered) for asked, answered in pairs), skipped=skipped)


def conversations(*all_turns: tuple[Turn, ...], skipped: int = 0) -> RowSet:
    rows = (Row(at, Place("r.jsonl", at + 1), turns) for at, turns in enumerate(all_turns))
    return RowSet("r.jsonl", "prompt-answer", tuple(rows), (), skipped)


def _turns(*texts: str) -> tuple[Turn, ...]:
    """A user's and the assistant's in turn."""
    return tuple(Turn("assistant" if at % 2 else "user", text) for at, text in enumerate(texts))


def tokenized(read: RowSet, limit: int = 512, *, loss_on_all: bool = False) -> Tokenized:
    to_tokens = RowTokenizer(BYTES, PlainTemplate(PLAIN), limit, loss_on_all)
    return tokenize_within(read.rows, to_tokens)


def inspected(
    read: RowSet, limit: int = 512, *, held_out: float = 0.5, batch_size: int = 4
) -> Inspection:
    parts = split(read.rows, held_out, seed=0)
    return inspect_rows(read, tokenized(read, limit), parts, token_f1, batch_size, 0)


# The template adds 8 tokens to an input, "\nAnswer:"; a target gets a space and an EOS.
THREE = row_set(("ab", "x"), ("abcd", "yz"), ("abcdef", "x"))
"""13, 16 and 17 tokens long."""


def test_counts_and_lengths() -> None:
    found = inspected(row_set(("ab", "x"), ("abcd", "yz"), ("abcdef", "x"), skipped=2))
    assert (found.rows, found.bad_rows, found.measured) == (5, 2, 3)
    assert found.characters.input == Lengths(2, 4, 6, 6)
    assert found.characters.target == Lengths(1, 1, 2, 2)
    assert found.characters.row == Lengths(3, 6, 7, 7)
    assert found.tokens.input == Lengths(10, 12, 14, 14)
    assert found.tokens.target == Lengths(3, 3, 4, 4)
    assert found.tokens.row == Lengths(13, 16, 17, 17)
    assert (found.tokens_in_loss, found.tokens_in_all) == (3 + 4 + 3, 13 + 16 + 17)


def test_percentiles_are_lengths_that_so_many_rows_do_not_exceed() -> None:
    found = inspected(row_set(*(("a" * size, "x") for size in range(1, 101))))
    assert found.characters.input == Lengths(1, 50, 95, 100)


def test_loss_on_all_counts_every_place_that_is_predicted() -> None:
    tokens = tokenized(THREE, loss_on_all=True)
    found = inspect_rows(THREE, tokens, split(THREE.rows, 0.5, 0), token_f1, 4, 0)
    assert found.tokens_in_loss == 12 + 15 + 16


def test_a_histogram_has_bins_of_one_width_and_knows_the_limit() -> None:
    lengths = [1, 9, 10, 16, 17, 40]
    assert histogram(lengths, 16) == (
        Bin(1, 4, 1, 0),
        Bin(5, 8, 0, 0),
        Bin(9, 12, 2, 0),
        Bin(13, 16, 1, 0),
        Bin(17, 20, 1, 1),
        *(Bin(first, first + 3, 0, 0) for first in (21, 25, 29, 33)),
        Bin(37, 40, 1, 1),
    )


def test_one_endless_row_does_not_flatten_a_histogram() -> None:
    *bins, last = histogram([*range(1, 41), 9000], 512)
    assert [one.rows for one in bins] == [8, 8, 8, 8, 8, *[0] * 5]
    assert last == Bin(81, None, 1, 1)


@settings(deadline=None)
@given(st.lists(st.integers(1, 5000), min_size=1), st.integers(8, 4000))
def test_every_row_is_in_one_bin(lengths: list[int], limit: int) -> None:
    bins = histogram(lengths, limit)
    assert len(bins) <= MOST_BINS
    assert sum(one.rows for one in bins) == len(lengths)
    assert sum(one.over_limit for one in bins) == sum(length > limit for length in lengths)
    for one, after in pairwise(bins):
        assert one.last is not None
        assert one.last + 1 == after.first
    for one in bins:
        assert one.rows == sum(
            one.first <= length <= (one.last or max(lengths)) for length in lengths
        )


def test_what_a_limit_costs() -> None:
    read = row_set(("ab", "x"), ("abcd", "yz"), ("abcdef", "x"), ("abc", "z" * 140))
    found = inspected(read, limit=15)
    assert found.limit == Limit(15, rows_cut=2, tokens_lost=1 + 2, supervised_lost=0, unusable=1)
    assert (found.bad_rows, found.measured) == (1, 4)
    assert found.tokens_in_all == 13 + 15 + 15
    # The last row has 11 + 142 tokens, 9 + 142 with one character of its input.
    assert found.limits == (
        LimitCost(15, rows_over=3, tokens_over=3, unusable=1),
        LimitCost(128, rows_over=1, tokens_over=0, unusable=1),
        LimitCost(256, rows_over=0, tokens_over=0, unusable=0),
    )


@pytest.mark.parametrize(("asked", "unusable"), [(151, 0), (150, 1)])
def test_a_row_is_unusable_where_not_one_character_of_its_input_fits(
    asked: int, unusable: int
) -> None:
    found = inspected(row_set(("abc", "z" * 140), ("ab", "x")), limit=asked)
    assert found.limit.unusable == unusable
    assert {cost.limit: cost.unusable for cost in found.limits}[asked] == unusable


words = st.text("ab ", min_size=1, max_size=40).filter(str.strip)
turns = st.builds(
    lambda system, pairs: tuple([Turn("system", system)] if system else []) + _turns(*pairs),
    st.sampled_from(["", "be kind"]),
    st.integers(1, 3).flatmap(lambda n: st.lists(words, min_size=2 * n, max_size=2 * n)),
)


@settings(deadline=None)
@given(st.lists(turns, min_size=2, max_size=5), st.integers(8, 120))
def test_what_a_limit_costs_is_what_the_tokenizer_does(
    all_turns: list[tuple[Turn, ...]], limit: int
) -> None:
    found = inspected(conversations(*all_turns), limit)
    (cost,) = (cost for cost in found.limits if cost.limit == limit)
    assert cost.unusable == found.limit.unusable
    assert cost.rows_over == found.limit.rows_cut + found.limit.unusable
    assert cost.tokens_over <= found.limit.tokens_lost


def test_a_limit_that_costs_nothing_stands_beside_the_lowest_that_is_enough() -> None:
    assert [cost.limit for cost in inspected(THREE, limit=700).limits] == [128, 700]
    long = row_set(("a" * 3000, "x"), ("b", "y"))
    assert [cost.limit for cost in inspected(long).limits] == [128, 256, 512, 1024, 2048]


def test_a_cut_conversation_loses_its_oldest_answers_to_the_loss() -> None:
    read = conversations(_turns("q1", "a1", "q2", "a2"), _turns("q", "a"))
    found = inspected(read, limit=20)
    # "q1\nAnswer:" " a1" EOS "\n\nq2\nAnswer:" " a2" EOS: 10 + 4 + 12 + 4, the first 16 are lost.
    assert found.limit == Limit(20, rows_cut=1, tokens_lost=16, supervised_lost=4, unusable=0)
    assert inspected(read, limit=13).limit.unusable == 0
    assert inspected(read, limit=12).limit.unusable == 1
    assert inspected(read, limit=12).limits[0] == LimitCost(12, 1, 0, 1)


def test_targets() -> None:
    read = row_set(("a red car", "red"), ("b", "red"), ("c", "red fox"), ("the blue d", " blue "))
    found = inspected(read).targets
    assert (found.distinct, found.most_frequent) == (3, "red")
    assert (found.rows_with_it, found.share) == (2, 0.5)
    # F1 of "red": 1, 1, 2/3 against "red fox", 0 against "blue".
    assert found.baseline_f1 == pytest.approx((1 + 1 + 2 / 3) / 4)
    assert (found.in_input, found.in_white_space) == (2, 1)


def test_names_of_special_tokens_in_rows() -> None:
    read = row_set(("what is <eos>", "a"), ("b", "<pad>"), ("c", "eos"))
    assert inspected(read).special_names == SpecialNames(2, become_tokens=False)
    own = RowTokenizer(BYTES, PlainTemplate("{input}<eos>", parses_special_tokens=True), 99)
    tokens = tokenize_within(read.rows, own)
    found = inspect_rows(read, tokens, split(read.rows, 0.5, 0), token_f1, 4, 0)
    assert found.special_names == SpecialNames(2, become_tokens=True)


def test_duplicates() -> None:
    text = "the quick brown fox jumps over the lazy dog by the river"
    read = row_set(
        (text, "yes"),
        ("something else altogether", "yes"),
        (text, "yes"),
        (text.upper(), "yes"),
        ("something else altogether", "no"),
        ("something else altogether", "yes"),
        ("quite another question here", "no"),
    )
    found = inspected(read).duplicates
    assert (found.groups, found.exact, found.near) == (2, 4, 1)
    assert found.exact_pair is not None
    assert (found.exact_pair.one.line, found.exact_pair.other.line) == (1, 3)
    assert found.near_pair is not None
    assert (found.near_pair.one.line, found.near_pair.other.line) == (1, 4)
    assert found.near_pair.similarity == 1.0
    assert found.contradictory == 3
    assert found.contradictory_pair is not None
    assert (found.contradictory_pair.one.line, found.contradictory_pair.other.line) == (2, 5)


def test_every_held_out_row_leaks_where_all_rows_are_the_same() -> None:
    found = inspected(row_set(*[("same question", "yes")] * 4)).duplicates
    assert (found.held_out, found.leaks) == (2, 2)
    apart = inspected(THREE).duplicates
    assert (apart.groups, apart.leaks, apart.exact_pair, apart.near_pair) == (0, 0, None, None)


def test_padding() -> None:
    short, long = ("ab", "x"), ("abcdef", "x")  # 13 and 17 tokens
    by_four = inspected(row_set(short, long, short, long)).padding
    assert by_four.shuffled == by_four.bucketed == pytest.approx(1 - 60 / 68)
    by_two = inspected(row_set(*[short, long] * 10), batch_size=2).padding
    assert by_two.bucketed == 0
    assert by_two.shuffled > 0


def test_nothing_fits() -> None:
    found = inspected(THREE, limit=8)
    assert (found.bad_rows, found.measured, found.tokens_in_all) == (3, 3, 0)
    assert found.padding == Padding(4, 0.0, 0.0)
    assert examples(tokenized(THREE, 8), decode, 3) == ()


def test_examples_are_the_first_the_shortest_and_the_longest() -> None:
    read = row_set(("abc", "first"), ("abcdefghij" * 2, "y"), ("a", "z"), ("ab", "y"))
    tokens = tokenized(read, limit=20)
    found = examples(tokens, decode, 4)
    assert [(one.title, one.place.line) for one in found] == [
        ("first row", 1),
        ("shortest row", 3),
        ("longest row", 2),
        ("another row", 4),
    ]
    first, _, longest, _ = found
    assert first.parts == (Part("abc\nAnswer:", False), Part(" first<eos>", True))
    assert (first.tokens, first.tokens_whole, first.tokens_in_loss) == (18, 18, 7)
    assert longest.parts == (Part("bcdefghij"[-9:] + "\nAnswer:", False), Part(" y<eos>", True))
    assert (longest.tokens, longest.tokens_whole) == (20, 31)
    assert examples(tokens, decode, 0) == ()
    assert len(examples(tokens, decode, 99)) == 4


def test_a_decoder_that_drops_the_first_space_loses_no_space_of_a_part() -> None:
    (example,) = examples(tokenized(THREE), lambda ids: decode(ids).lstrip(), 1)
    assert example.parts == (Part("ab\nAnswer:", False), Part(" x<eos>", True))
