"""Loaders without rows, on hand-made recordings: what left nothing, and what is passed over."""

from dataclasses import replace

from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Crash, Frame, Process, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.data.no_rows_left import RULE
from surefit.source.spans import Span

TEXT = """\
train = [row for row in rows if row.part == "train"]
loader = DataLoader(train, shuffle=True)
mean = total / len(loader)
"""
ROWS = Value("rows", "list", 1, length=40)
MADE = Frame(Place("train.py", 2), "<module>", own=True, span=Span(2, 9, 2, 40), values=(ROWS,))
SAMPLER = Frame(
    Place("torch/utils/data/sampler.py", 9),
    "RandomSampler.__init__",
    own=False,
    values=(Value("num_samples", "NoneType"), Value("data_source", "list", length=0)),
)
DIVIDED = replace(
    MADE,
    place=Place("train.py", 3),
    span=Span(3, 7, 3, 26),
    values=(ROWS, Value("loader", "DataLoader", 2, made_at=Place("train.py", 2))),
)


def found(*frames: Frame, kind: str = "ValueError", text: str = TEXT) -> list[Finding]:
    crash = Crash("1-1", 1.0, Process(1), kind, f"{kind}: no", frames)
    return list(RULE.look(Recording([Script("train.py", text), crash])))


def test_the_line_that_keeps_nothing_is_named() -> None:
    (finding,) = found(MADE, SAMPLER)
    assert finding.place == Place("train.py", 1)
    assert "keeps nothing of the 40 items of `rows`" in finding.headline


def test_a_division_by_the_length_of_a_loader() -> None:
    (finding,) = found(DIVIDED, kind="ZeroDivisionError")
    assert finding.place == Place("train.py", 1)
    dropping = TEXT.replace("shuffle=True", "drop_last=True")
    assert found(DIVIDED, kind="ZeroDivisionError", text=dropping) == []
    known = replace(DIVIDED, values=(*DIVIDED.values, Value("train", "list", length=3)))
    assert found(known, kind="ZeroDivisionError") == []


def test_rows_from_nowhere_are_told_at_the_loader() -> None:
    text = TEXT.replace('[row for row in rows if row.part == "train"]', "load()")
    (finding,) = found(MADE, SAMPLER, text=text)
    assert finding.headline == "`train` has no rows, and a loader needs one."


def test_samplers_of_other_numbers_are_passed_over() -> None:
    many = replace(SAMPLER, values=(Value("num_samples", "int", scalar=-3),))
    assert found(MADE, many) == []
    full = replace(SAMPLER, values=(Value("data_source", "list", length=4),))
    assert found(MADE, full) == []
    assert found(MADE) == []
