"""Gaps in an index on hand-made recordings: what left them, and what is passed over."""

from dataclasses import replace
from textwrap import dedent

from recorded_crashes import look, mended
from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.numbered import Numbered
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Crash, Frame, Passed, Process, Value
from surefit.doctor.recording import Recording
from surefit.rules.data.index_has_gaps import RULE
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


def found(
    own: Frame = OWN,
    kind: str = "KeyError",
    text: str = TEXT,
    left: str = "frame.dropna()",
    *above: Frame,
) -> list[Finding]:
    """`left`: the expression that left rows out."""
    inside = Frame(Place("pandas/core/series.py", 9), "__getitem__", own=False)
    crash = Crash("1-1", 1.0, Process(1), kind, f"{kind}: 7", (*above, own, inside))
    whole = replace(WORDS, numbered=True)
    taken = "frame" if "frame" in left else "read()"
    chain = (("self.words", WORDS), (left, replace(WORDS, kind="DataFrame")), (taken, whole))
    return look(RULE, text, crash, chains={(len(above), "self.words"): chain})


def test_rows_are_asked_for_by_position() -> None:
    (finding,) = found()
    assert finding.place == Place("train.py", 7, 7)
    assert "the row with the label 7" in finding.headline
    assert "return self.words.iloc[at]\n" in mended(finding, TEXT)


def test_rows_are_numbered_again_where_some_were_left_out() -> None:
    (finding,) = found()
    must = finding.fixes[1].must
    assert isinstance(must, All)
    assert must.conditions[0] == Numbered(Place("train.py", 5), "self.words", 30)
    assert "frame = frame.dropna().reset_index(drop=True)\n" in mended(finding, TEXT, 1)


def test_each_part_of_a_split_is_numbered_again() -> None:
    text = TEXT.replace("frame = frame.dropna()", "frame, held_out = split(frame)")
    (finding,) = found(text=text, left="split(frame)")
    again = "frame = frame.reset_index(drop=True)\nheld_out = held_out.reset_index(drop=True)\n"
    assert again in mended(finding, text, 1)


def test_every_column_that_is_asked_by_the_same_position() -> None:
    text = TEXT.replace(
        "return self.words[at]",
        'return self.words[at], self.table.loc[at, "n"], self.array[at], self.other[at + 1]',
    )
    array = Value("self.array", "ndarray", 6, shape=(30,))
    (finding,) = found(replace(OWN, values=(*OWN.values, array)), text=text)
    becomes = 'self.words.iloc[at], self.table["n"].iloc[at], self.array[at], self.other[at + 1]'
    assert becomes in mended(finding, text)


def test_where_another_part_has_gaps_too_the_class_numbers_its_own() -> None:
    valid = Value("valid", "DataFrame", 8, length=9, numbered=False)
    above = Frame(Place("train.py", 8), "<module>", own=True, values=(valid,))
    (finding,) = found(OWN, "KeyError", TEXT, "frame.dropna()", above)
    assert len(finding.fixes) == 1
    assert finding.fixes[0].text.startswith("Ask by position")


def test_labels_that_are_needed_elsewhere_stay() -> None:
    text = TEXT + "def later():\n    return labels.loc[frame.index]\n"
    (finding,) = found(text=text)
    (fix,) = finding.fixes
    assert fix.text.startswith("Ask by position")


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
