"""Perplexity counts tokens, clamps nothing and fails on nothing."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefit.metrics.perplexity import Perplexity, gap_closed, held_out_line


def of_mean(mean: float, places: int = 100) -> Perplexity:
    return Perplexity(mean * places, places)


def test_tokens_count_and_not_batches() -> None:
    both = Perplexity(9 * 2.0, 9) + Perplexity(1 * 4.0, 1)
    assert both.mean == pytest.approx(2.2)
    assert both.value == pytest.approx(math.exp(2.2))
    assert both.value != pytest.approx((math.exp(2.0) + math.exp(4.0)) / 2)


@pytest.mark.parametrize(
    ("mean", "text"),
    [
        (0.0, "1.00"),
        (3.0, "20.09"),
        (math.log(8234.5), "8234.5"),
        (math.log(10_000) + 1, "27182.8"),
        (12.0, "162754.8"),
        (100.0, "2.7e+43"),
        (800.0, "2.7e+347"),
        (400 * math.log(10), "1.0e+400"),
        (math.inf, "inf"),
        (math.nan, "nan"),
    ],
)
def test_it_is_written_as_it_is(mean: float, text: str) -> None:
    assert str(of_mean(mean)) == text


def test_what_no_float_holds_is_infinite_as_a_number_alone() -> None:
    large = of_mean(800.0)
    assert large.value == math.inf
    assert large.mean == 800.0
    assert str(large) != "inf"


def test_of_no_place_nothing_is_said() -> None:
    assert str(Perplexity(0.0, 0)) == "nan"


@given(st.floats(0, 1e6, allow_nan=False))
def test_the_text_is_the_number(mean: float) -> None:
    text = str(of_mean(mean, 1))
    digits, _, exponent = text.partition("e+")
    told = math.log(float(digits)) + int(exponent or 0) * math.log(10)
    assert told == pytest.approx(mean, abs=0.06)


@pytest.mark.parametrize(
    ("now", "share"), [(5.0, 0.0), (4.0, 0.5), (3.0, 1.0), (2.5, 1.25), (6.0, -0.5)]
)
def test_the_gap_that_is_closed(now: float, share: float) -> None:
    assert gap_closed(of_mean(5.0), of_mean(now, 7), of_mean(3.0)) == pytest.approx(share)


@pytest.mark.parametrize("teacher", [5.0, 6.0])
def test_without_a_gap_there_is_no_share(teacher: float) -> None:
    assert gap_closed(of_mean(5.0), of_mean(4.0), of_mean(teacher)) is None


def test_the_line_for_the_log() -> None:
    line = held_out_line(
        10,
        loss=9.21431,
        cross_entropy=9.4,
        divergence=9.0,
        perplexity=of_mean(math.log(8234.5)),
        evaluated=12,
        batches=12,
    )
    assert line == (
        "Step 10: loss 9.2143 (ce 9.4000, kd 9.0000), ppl 8234.5, evaluated 12/12 batches"
    )


def test_a_small_divergence_is_not_written_as_zero() -> None:
    line = held_out_line(
        3,
        loss=1.0,
        cross_entropy=2.04,
        divergence=0.00123,
        perplexity=of_mean(2.04),
        evaluated=1,
        batches=2,
    )
    assert "(ce 2.0400, kd 0.00123), ppl 7.69, evaluated 1/2 batches" in line
