"""The split leaks nothing and is exact."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefit.data.duplicates import SIMILAR, similarity
from surefit.data.rows import Row, Turn
from surefit.data.split import _sums, split
from surefit.doctor.findings import Place
from surefit.errors import BadInput


def row(number: int, text: str, target: str) -> Row:
    turns = (Turn("user", text), Turn("assistant", target))
    return Row(number, Place("rows.jsonl", line=number + 1), turns)


def distinct_rows(count: int) -> list[Row]:
    return [row(number, f"{number} " * 5, f"answer {number}") for number in range(count)]


def rows_in_groups(*sizes: int) -> list[Row]:
    kinds = [kind for kind, size in enumerate(sizes) for _ in range(size)]
    return [row(number, f"question {kind}", f"answer {kind}") for number, kind in enumerate(kinds)]


@st.composite
def rows_with_twins(draw: st.DrawFn) -> list[Row]:
    """Rows of random words, some of them followed by equal or nearly equal ones."""
    chance = random.Random(draw(st.integers(0, 10**6)))
    made: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(2, 12))):
        text = " ".join("".join(chance.choices("abcdefgh", k=6)) for _ in range(12))
        twins = [text, text.upper(), text + ".", text.replace(" ", "  "), text[:-1]]
        answer = chance.choice(["yes", "no", "Ann"])
        made += [(twin, answer) for twin in twins[: chance.choice([1, 1, 1, 2, 5])]]
    chance.shuffle(made)
    return [row(number, text, answer) for number, (text, answer) in enumerate(made)]


@settings(deadline=None, max_examples=80)
@given(rows_with_twins(), st.floats(0, 0.9), st.integers(0, 10**6))
def test_no_twin_is_on_the_other_side_and_the_count_is_exact(
    rows: list[Row], share: float, seed: int
) -> None:
    wanted = max(1, round(len(rows) * share)) if share else 0
    if wanted == len(rows):
        with pytest.raises(BadInput):
            split(rows, share, seed)
        return
    made = split(rows, share, seed)
    assert not any(
        kept.target == held.target and similarity(kept.input, held.input) >= SIMILAR
        for kept in made.train
        for held in made.held_out
    )
    assert sorted(r.number for r in (*made.train, *made.held_out)) == list(range(len(rows)))
    assert len(made.held_out) == wanted - made.short_by
    assert made.short_by == nearest_below(rows, made.groups, wanted)
    held = {r.number for r in made.held_out}
    assert all(held.issuperset(group) or held.isdisjoint(group) for group in made.groups)
    assert made == split(rows, share, seed)


def nearest_below(rows: list[Row], groups: tuple[tuple[int, ...], ...], wanted: int) -> int:
    """How many rows the best choice of whole groups falls short by."""
    alone = len(rows) - sum(map(len, groups))
    sums = {0}
    for size in [*map(len, groups), *([1] * alone)]:
        sums |= {total + size for total in sums}
    return wanted - max(total for total in sums if total <= wanted)


@given(st.lists(st.integers(1, 9), max_size=30), st.integers(0, 60))
def test_sums_that_are_counted_again_are_those_that_were_kept(sizes: list[int], most: int) -> None:
    reachable = [{0}]
    for size in reversed(sizes):
        more = {total + size for total in reachable[-1]}
        reachable.append({total for total in reachable[-1] | more if total <= most})
    wanted = [sum(1 << total for total in totals) for totals in reversed(reachable)]
    assert list(_sums(sizes, most)) == wanted


def test_a_thousand_rows_hold_out_a_hundred() -> None:
    made = split(distinct_rows(1000), 0.1, seed=0)
    assert (len(made.train), len(made.held_out)) == (900, 100)
    assert (made.leaks_avoided, made.groups, made.short_by) == (0, (), 0)


def test_rows_keep_the_order_of_their_source() -> None:
    made = split(distinct_rows(50), 0.3, seed=4)
    for side in (made.train, made.held_out):
        assert [r.number for r in side] == sorted(r.number for r in side)


def test_the_seed_decides() -> None:
    rows = distinct_rows(100)
    assert split(rows, 0.2, seed=1) == split(rows, 0.2, seed=1)
    assert split(rows, 0.2, seed=1).held_out != split(rows, 0.2, seed=2).held_out


def test_global_randomness_is_neither_used_nor_moved() -> None:
    random.seed(5)
    before = random.getstate()
    one = split(distinct_rows(20), 0.2, seed=1)
    assert random.getstate() == before
    random.seed(6)
    assert split(distinct_rows(20), 0.2, seed=1) == one


def test_leaks_that_a_plain_split_would_have_made_are_counted() -> None:
    rows = [row(n, f"question {n // 2}", f"answer {n // 2}") for n in range(200)]
    made = split(rows, 0.1, seed=0)
    order = list(range(200))
    random.Random("split 0").shuffle(order)
    plain = set(order[:20])
    assert made.leaks_avoided == sum(1 for at in plain if at ^ 1 not in plain)
    assert made.leaks_avoided > 10
    assert len(made.held_out) == 20


def test_groups_are_chosen_by_size_where_no_row_stands_alone() -> None:
    for seed in range(10):
        assert len(split(rows_in_groups(3, 2, 2, 3), 0.4, seed).held_out) == 4
        assert len(split(rows_in_groups(5, 1, 4), 0.5, seed).held_out) == 5


def test_an_exact_count_that_would_leak_is_missed_and_said() -> None:
    made = split(rows_in_groups(5, 5), 0.7, seed=0)
    assert (made.wanted, len(made.held_out), made.short_by) == (7, 5, 2)


def test_a_share_of_0_holds_nothing_out() -> None:
    made = split(distinct_rows(3), 0.0, seed=0)
    assert (len(made.train), list(made.held_out)) == (3, [])


def test_a_small_share_holds_out_one_row() -> None:
    assert len(split(distinct_rows(3), 0.01, seed=0).held_out) == 1


@pytest.mark.parametrize(("count", "share"), [(10, 1.0), (1, 0.1), (2, 0.9)])
def test_nothing_to_train_on_is_refused(count: int, share: float) -> None:
    with pytest.raises(BadInput) as refused:
        split(distinct_rows(count), share, seed=0)
    (finding,) = refused.value.findings
    assert finding.rule == "nothing-to-train-on"
    assert finding.place.file == "rows.jsonl"
    assert finding.headline == f"No row is left to train on: {count} of {count} are held out."
