"""Gaps in an index on hand-made recordings: what left them, and what is passed over."""

from dataclasses import replace
from textwrap import dedent

import pytest

from surefit.doctor.conditions.numbered import Numbered
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Crash, Frame, Passed, Process, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.data.index_has_gaps import RULE
from surefit.source.edits import patched
from surefit.source.spans import Span

TEXT = dedent(
    """\
    class Rows:
        def __init__(self, frame):
            self.words = frame["words"]
        def __getitem__(self, at):
            return self.words[at]
    frame = read()
    frame = frame.dropna()
    rows = Rows(frame)
    """
)
WORDS = Value("self.words", "Series", 3, length=30, numbered=False)
OWN = Frame(
    Place("train.py", 5),
    "Rows.__getitem__",
    own=True,
    line="return self.words[at]",
    expression="self.words[at]",
    span=Span(5, 15, 5, 29),
    values=(WORDS, Value("at", "int", 4, scalar=7)),
)


def found(own: Frame = OWN, kind: str = "KeyError", text: str = TEXT) -> list[Finding]:
    inside = Frame(Place("pandas/core/series.py", 9), "__getitem__", own=False)
    crash = Crash("1-1", 1.0, Process(1), kind, f"{kind}: 7", (own, inside))
    return list(RULE.look(Recording([Script("train.py", text), crash])))


def test_the_rows_are_numbered_anew_where_some_were_left_out() -> None:
    (finding,) = found()
    assert finding.place == Place("train.py", 7)
    assert "the row that has the number 7" in finding.headline
    fix = finding.fixes[0]
    assert fix.must == Numbered(Place("train.py", 5), "self.words", 30)
    assert fix.edit is not None
    assert "frame = frame.dropna().reset_index(drop=True)\n" in patched(fix.edit, TEXT)


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("frame = frame[frame.n > 2]", "frame = frame[frame.n > 2].reset_index(drop=True)"),
        ("frame = frame[20:].copy()", "frame = frame[20:].copy().reset_index(drop=True)"),
        (
            "frame, held_out = train_test_split(frame)",
            "frame = frame.reset_index(drop=True)\nheld_out = held_out.reset_index(drop=True)",
        ),
    ],
)
def test_many_ways_leave_gaps(line: str, becomes: str) -> None:
    text = TEXT.replace("frame = frame.dropna()", line)
    (finding,) = found(text=text)
    assert finding.fixes[0].edit is not None
    assert becomes in patched(finding.fixes[0].edit, text)


def test_numbers_that_are_needed_elsewhere_are_kept() -> None:
    text = TEXT + "def later():\n    return labels.loc[frame.index]\n"
    (finding,) = found(text=text)
    (fix,) = finding.fixes
    assert fix.edit is None
    assert fix.text.startswith("Ask by position")


def test_rows_are_numbered_anew_behind_the_last_line_that_needs_their_numbers() -> None:
    text = TEXT.replace("rows = Rows", "rest = whole.drop(frame.index)\nrows = Rows")
    text = text.replace("self.words = frame", "self.words, self.n = frame")
    text = text.replace('["words"]', '["words"], 3')
    (finding,) = found(text=text)
    assert finding.place == Place("train.py", 7)
    edit = finding.fixes[0].edit
    assert edit is not None
    assert (
        "rest = whole.drop(frame.index)\nframe = frame.reset_index(drop=True)\nrows ="
        in patched(edit, text)
    )


def test_other_keys_and_whole_indexes_are_passed_over() -> None:
    beyond = replace(OWN, values=(WORDS, Value("at", "int", 4, scalar=30)))
    assert found(beyond) == []
    name = replace(OWN, values=(WORDS, Value("at", "str", 4, scalar="words")))
    assert found(name) == []
    assert found(replace(OWN, values=(replace(WORDS, numbered=True), *OWN.values[1:]))) == []
    assert found(kind="TypeError") == []


def test_all_rows_must_be_there_and_numbered() -> None:
    must = Numbered(Place("train.py", 5), "self.words", 30)

    def judged(value: Value) -> bool:
        came = Passed(Process(1), must.watchpoint, 0, (value,))
        return must.judge(Recording([]), Recording([came])).held

    assert judged(replace(WORDS, numbered=True))
    assert not judged(WORDS)
    assert not judged(replace(WORDS, numbered=True, length=28))
