"""Rows that `__len__` promises and nobody has, on hand-made recordings."""

from textwrap import dedent

from recorded_crashes import look
from surefit.doctor.conditions.positions import PositionsInside
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Crash, Frame, Passed, Process, Value
from surefit.doctor.recording import Recording
from surefit.rules.data.length_beyond_the_data import RULE
from surefit.source.edits import patched
from surefit.source.spans import Span

TEXT = dedent(
    """\
    class Tides:
        def __len__(self):
            return len(self.levels)
        def __getitem__(self, at):
            return self.levels[at + self.past]
    """
)
LEVELS = Value("self.levels", "list", 1, length=40)


def found(text: str, part: str, at: int, levels: Value = LEVELS) -> list[Finding]:
    line = text.splitlines()[4]
    start = line.index(part)
    own = Frame(
        Place("train.py", 5),
        "Tides.__getitem__",
        own=True,
        span=Span(5, start, 5, start + len(part)),
        values=(levels, Value("at", "int", scalar=at), Value("self.past", "int", scalar=6)),
        arguments=("self", "at"),
    )
    crash = Crash("1-1", 1.0, Process(1), "IndexError", "IndexError: no", (own,))
    return look(RULE, text, crash)


def test_rows_that_look_ahead_are_fewer() -> None:
    (finding,) = found(TEXT, "self.levels[at + self.past]", 36)
    assert finding.place == Place("train.py", 3)
    fix = finding.fixes[0]
    assert fix.edit is not None
    assert "return len(self.levels) - self.past\n" in patched(fix.edit, TEXT)
    assert "34 rows can be read" in fix.text
    assert isinstance(fix.must, PositionsInside)
    inside = Value("self.levels", "list", length=40), Value("at", "int", scalar=33)
    beyond = Value("self.levels", "list", length=40), Value("at", "int", scalar=34)
    first = Passed(Process(1), fix.must.watchpoint, 0, inside)
    second = Passed(Process(1), fix.must.watchpoint, 0, beyond)
    assert fix.must.judge(Recording([]), Recording([first])).held
    assert not fix.must.judge(Recording([]), Recording([first, second])).held


def test_one_too_many_is_counted() -> None:
    text = TEXT.replace("len(self.levels)", "len(self.levels) + 1").replace(" + self.past", "")
    (finding,) = found(text, "self.levels[at]", 40)
    assert finding.fixes[0].edit is not None
    assert "return len(self.levels)\n" in patched(finding.fixes[0].edit, text)


def test_lists_of_two_lengths_are_a_choice() -> None:
    text = TEXT.replace("len(self.levels)", "len(self.names)").replace(" + self.past", "")
    (finding,) = found(text, "self.levels[at]", 41)
    assert finding.fixes[0].edit is not None
    assert finding.fixes[0].choice


def test_numbers_from_elsewhere_and_places_inside_are_passed_over() -> None:
    plain = TEXT.replace(" + self.past", "")
    assert found(plain, "self.levels[at]", 41) == []
    assert found(TEXT, "self.levels[at + self.past]", 20) == []


def test_what_is_added_may_be_a_sum_and_the_length_may_lose_too_few() -> None:
    text = TEXT.replace("len(self.levels)", "len(self.levels) - self.past")
    text = text.replace("at + self.past", "at + self.past + 3 - 1")
    (finding,) = found(text, "self.levels[at + self.past + 3 - 1]", 33)
    fix = finding.fixes[0]
    assert fix.edit is not None
    assert "return len(self.levels) - self.past - 3 + 1\n" in patched(fix.edit, text)
    assert "32 rows can be read" in fix.text
    assert isinstance(fix.must, PositionsInside)
    assert fix.must.added == 8


def test_positions_that_are_no_sum_with_the_row_are_passed_over() -> None:
    for key in ("at * 2", "self.past - at", "at + at", "at - self.past"):
        text = TEXT.replace("at + self.past", key)
        assert found(text, f"self.levels[{key}]", 39) == []
