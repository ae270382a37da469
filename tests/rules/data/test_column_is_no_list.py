"""Columns in place of lists, on hand-made recordings."""

import pytest

from lineages import lineage_answer
from recorded_rows import Chains
from surefit.doctor.conditions.rows import RowsArrive
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Crash, Frame, Process, Script, Value
from surefit.doctor.recording import Recording
from surefit.laws.crashes import violations_in
from surefit.rules.data.column_is_no_list import RULE
from surefit.source.edits import patched
from surefit.source.reading import Source
from surefit.source.spans import Span

LIBRARY = Frame(Place("transformers/tokenization_utils_base.py", 9), "__call__", own=False)


def found(
    text: str,
    part: str,
    *values: Value,
    kind: str = "ValueError",
    library: Frame | None = None,
    chains: Chains | None = None,
) -> list[Finding]:
    """The part of the last line failed."""
    line = len(text.splitlines())
    at = text.splitlines()[-1].index(part)
    own = Frame(
        Place("train.py", line),
        "<module>",
        own=True,
        expression=part,
        span=Span(line, at, line, at + len(part)),
        values=values,
    )
    frames = (own, library) if library else (own,)
    crash = Crash("1-1", 1.0, Process(1), kind, f"{kind}: no", frames)
    answer = lineage_answer(crash, Source("train.py", text), chains or {})
    recording = Recording([Script("train.py", text), crash, answer])
    return list(RULE.look(recording, violations_in(recording, [])))


def after(finding: Finding, text: str) -> str:
    edit = finding.fixes[0].edit
    assert edit is not None
    return patched(edit, text)


def test_a_tokenizer_gets_a_list() -> None:
    text = 'out = tok(rows["text"], padding=True)\n'
    column = Value("rows['text']", "Column", 1, length=16)
    (finding,) = found(text, text[6:-1], column, library=LIBRARY)
    assert finding.headline == '`rows["text"]` is a `Column`, and `tok` takes a list.'
    assert after(finding, text) == 'out = tok(list(rows["text"]), padding=True)\n'
    must = finding.fixes[0].must
    assert must == RowsArrive(rows=16, place=Place("train.py", 1), names=("out",), after=True, at=0)


def test_a_column_becomes_a_list_where_it_got_its_name() -> None:
    text = 'texts = frame["text"]\nout = tok(texts)\n'
    series = Value("texts", "Series", 1, length=4, dtype="str")
    chains: Chains = {(0, "texts"): [('frame["text"]', series)]}
    (finding,) = found(text, "tok(texts)", series, library=LIBRARY, chains=chains)
    assert finding.place.line == 1
    assert after(finding, text) == 'texts = frame["text"].tolist()\nout = tok(texts)\n'


def test_in_a_function_whose_caller_is_unknown_it_becomes_a_list_in_the_call() -> None:
    text = "def encode(texts):\n    return tok(texts)\n"
    column = Value("texts", "Column", 1, length=4)
    (finding,) = found(text, "tok(texts)", column, library=LIBRARY)
    assert "    return tok(list(texts))\n" in after(finding, text)


def test_columns_are_added_as_lists() -> None:
    text = 'both = a["t"] + b["t"]\n'
    columns = Value("a['t']", "Column", 1, length=3), Value("b['t']", "Column", 2, length=4)
    (finding,) = found(text, 'a["t"] + b["t"]', *columns, kind="TypeError")
    assert after(finding, text) == 'both = list(a["t"]) + list(b["t"])\n'
    assert finding.fixes[0].must == RowsArrive(
        rows=7, place=Place("train.py", 1), names=("both",), after=True, at=0
    )


@pytest.mark.parametrize(
    "value",
    [
        Value("x", "list", 1, length=3),
        Value("x", "Series", 1, length=3, dtype="int64"),
        Value("x", "ndarray", 1, shape=(3,), dtype="float32"),
    ],
)
def test_lists_and_numbers_are_passed_over(value: Value) -> None:
    assert found("out = tok(x)\n", "tok(x)", value, library=LIBRARY) == []


def test_other_calls_with_columns_are_passed_over() -> None:
    column = Value("x", "Column", 1, length=3)
    assert found("out = work(x)\n", "work(x)", column) == []
