"""What stands for a number that was never measured is followed through plain arithmetic."""

import ast
import math
from textwrap import dedent

import pytest

from surefit.doctor.findings import Place
from surefit.laws.evaluation.stand_ins import StandIn, carried_on, number_of
from surefit.source import snippets
from surefit.source.reading import Source


def after_the_loop(begin: str, body: str, after: str) -> StandIn | None:
    text = dedent("""
        def evaluate(model, batches):
            {begin}
            for batch in batches:
                try:
                    {body}
                except Exception:
                    continue
            {after}
    """).strip()
    source = Source("train.py", text.format(begin=begin, body=body, after=after))
    tried = next(source.every(ast.Try))
    return carried_on(source, tried)


@pytest.mark.parametrize(
    ("begin", "body", "after", "expected"),
    [
        ("total = 0.0", "total += loss(batch)", "mean = total / 10", ("mean", 0.0, "")),
        (
            "losses = []",
            "losses.append(loss(batch))",
            "return sum(losses) / max(len(losses), 1)",
            ("", 0.0, "evaluate"),
        ),
        (
            "n, total = 0, 0.0",
            "total += loss(batch); n += 1",
            "ppl = math.exp(total / n) if n else 1e4",
            ("ppl", 1e4, ""),
        ),
        (
            "n = 0",
            "n += 1",
            "mean = 0.0 if n else math.inf; ppl = min(math.exp(mean), 10000.0)",
            ("ppl", 10000.0, ""),
        ),
    ],
)
def test_sums_and_lists_that_were_never_filled(
    begin: str, body: str, after: str, expected: tuple[str, float, str]
) -> None:
    found = after_the_loop(begin, body, after)
    assert found is not None
    assert (found.name, found.value, found.given_back_by) == expected
    assert found.place.line == 8


def test_a_branch_that_returns_ends_the_way() -> None:
    found = after_the_loop(
        "n = 0", "n += 1", 'if n == 0:\n        return float("inf")\n    other = n + 7'
    )
    assert found == StandIn("", math.inf, Place("train.py", 9, 9), "evaluate")


@pytest.mark.parametrize(
    ("begin", "body", "after"),
    [
        ("total = start()", "total += loss(batch)", "mean = total / 10"),
        ("total = 0.0", "seen = loss(batch)", "mean = total / 10"),
        ("total = 0.0", "total += loss(batch)", "mean = reduce(total)"),
        ("total = 0.0", "total += loss(batch)", "mean = total / 0"),
        ("total = 0.0", "total += loss(batch)", "if ready():\n        mean = 1.0"),
    ],
    ids=["unknown-start", "nothing-filled", "unknown-call", "would-raise", "unknown-branch"],
)
def test_what_needs_more_than_the_source_is_not_claimed(begin: str, body: str, after: str) -> None:
    assert after_the_loop(begin, body, after) is None


def test_a_name_that_is_given_something_unknown_is_forgotten() -> None:
    assert after_the_loop("n = 0", "n += 1", "n = ask()\n    mean = n / 2") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10000.0", 10000.0),
        ("-1", -1.0),
        ("float('inf')", math.inf),
        ("math.inf", math.inf),
        ("np.inf", math.inf),
        ("1e4 * 2", 2e4),
        ("True", None),
        ("None", None),
        ("best", None),
        ("model(x)", None),
        ("'skipped'", None),
        ("1 +", None),
    ],
)
def test_plain_numbers(text: str, value: float | None) -> None:
    assert number_of(snippets.expression(text)) == value
