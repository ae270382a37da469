"""What the order of the source shows: statements that run too early, too late, once or in a block
that ends, and the source after the change."""

import ast
from textwrap import dedent

import pytest

from surefit.doctor.observations import Script
from surefit.doctor.recording import Recording
from surefit.laws.case import Case
from surefit.laws.values import other_moments
from surefit.laws.values.other_moments import OnTheWay, OtherMoment
from surefit.source.patches import patched

LEFT_IN = """
def gather(samples):
    kinds = []
    for sample in samples:
        kinds.append(sample)
        return stack(kinds)
"""
BEHIND = """
def gather(samples):
    kinds = []
    for sample in samples:
        width = len(sample)
    kinds.append(width)
    return stack(kinds)
"""


def moments(text: str, at: str, find: str) -> list[tuple[OtherMoment, str]]:
    """What one search says of the statement that begins with a text, and the changed source."""
    text = dedent(text).lstrip("\n")
    recording = Recording([Script("train.py", text, True)])
    source = recording.source("train.py")
    assert source is not None
    line = next(n for n, known in enumerate(source.lines, 1) if known.strip().startswith(at))
    statement = source.statement_at(line)
    assert statement is not None
    passed, case = OnTheWay(source, statement), Case(recording)
    search = getattr(other_moments, find)
    failing = [OnTheWay(source, source.tree.body[-1])]
    given = {
        "closed": (passed, failing),
        "filled_after_the_loop": ((source, source.scope_of(statement)),),
        "left_in_the_first_round": ((source, source.scope_of(statement)),),
    }.get(find, (passed,))
    return [(moment, patched(moment.edit, text)) for moment in search(case, *given)]


@pytest.mark.parametrize(
    ("made", "listed"),
    [
        ("filter(None, lines)", "list(filter(None, lines))"),
        ("(line for line in lines)", "[line for line in lines]"),
        ("rows()", "list(rows())"),
        ("itertools.chain(lines)", "list(itertools.chain(lines))"),
    ],
)
def test_an_iterator_is_used_up(made: str, listed: str) -> None:
    text = f"""
    import itertools
    def rows():
        yield 1
    clean = {made}
    words = set(clean)
    samples = [line for line in clean]
    """
    ((moment, after),) = moments(text, "samples", "used_up")
    assert "`clean` is an iterator, which train.py:5 has read to its end" in moment.said
    assert f"clean = {listed}" in after
    assert moments(text, "words", "used_up") == []
    again = text.replace(f"clean = {made}", "clean = sorted(lines)")
    assert moments(again, "samples", "used_up") == []


def test_a_block_closes_what_is_used_behind_it() -> None:
    text = """
    def opened(path):
        with h5py.File(path) as held:
            rows = held["rows"]
            size = len(rows)
        return rows
    print(opened("a")[0])
    """
    ((moment, after),) = moments(text, "rows =", "closed")
    assert moment.said.startswith("`h5py.File(path)` is closed where its `with` block ends")
    assert after.splitlines()[1:4] == [
        "    held = h5py.File(path)",
        '    rows = held["rows"]',
        "    size = len(rows)",
    ]
    assert moments(text, "size =", "closed") == []


def test_a_mask_is_made_once() -> None:
    text = """
    class Net:
        def forward(self, ids):
            if self.mask is None:
                self.mask = causal(len(ids))
            return self.layer(ids, self.mask)
    """
    ((moment, after),) = moments(text, "self.mask =", "made_once")
    assert (
        moment.said == "`self.mask` is made once, by train.py:4, and does not fit what comes later."
    )
    assert "if " not in after
    assert ast.parse(after)
    assert (
        moments(text.replace("self.mask is None", "self.training"), "self.mask =", "made_once")
        == []
    )


def test_results_are_cached() -> None:
    text = """
    from functools import lru_cache
    @lru_cache(None)
    def mask(length):
        made = causal(length)
        return made
    """
    ((_, after),) = moments(text, "made =", "made_once")
    assert "@" not in after


@pytest.mark.parametrize("change", ["student(rows[:1])", "student = prepare(student)"])
def test_a_copy_is_taken_too_early(change: str) -> None:
    text = f"""
    average = deepcopy(student)
    rows = load()
    {change}
    train(average)
    """
    ((moment, after),) = moments(text, "average", "made_too_early")
    assert moment.said == "`average` is made from `student` before train.py:3 changes that."
    assert after.splitlines()[:3] == ["rows = load()", change, "average = deepcopy(student)"]
    assert moments(text.replace(change, "print(student)"), "average", "made_too_early") == []


def test_what_belongs_into_a_loop_stands_behind_it() -> None:
    ((moment, after),) = moments(BEHIND, "kinds.append", "filled_after_the_loop")
    assert moment.said.startswith("`kinds.append(width)` stands behind its loop over `samples`")
    assert "\n        kinds.append(width)\n    return" in after
    assert moments(LEFT_IN, "kinds.append", "filled_after_the_loop") == []
    other = BEHIND.replace("append(width)", "append(0)")
    assert moments(other, "kinds.append", "filled_after_the_loop") == []


def test_a_loop_is_left_in_its_first_round() -> None:
    ((moment, after),) = moments(LEFT_IN, "kinds.append", "left_in_the_first_round")
    assert moment.said.startswith("`return stack(kinds)` stands inside the loop over `samples`")
    assert after.endswith("\n    return stack(kinds)\n")
    assert moments(BEHIND, "kinds.append", "left_in_the_first_round") == []
