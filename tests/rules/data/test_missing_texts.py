"""Missing texts on hand-made recordings: which column, which statement, what is passed over."""

from dataclasses import replace
from textwrap import dedent
from typing import Any

from surefit.doctor.conditions.left_out import RowsLeftOut
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Passed,
    Process,
    Question,
    Script,
    Value,
)
from surefit.doctor.recording import Recording
from surefit.rules.data.missing_texts import RULE
from surefit.source.edits import patched

TEXT = dedent(
    """\
    import pandas as pd
    def load(path):
        return pd.read_csv(path)
    frame = load("posts.csv")
    texts = frame["body"].tolist()
    encoded = tokenizer(texts, padding=True)
    """
)
TABLE = {
    "kind": "DataFrame",
    "column": "body",
    "rows": 120,
    "missing": 4,
    "first": [0, 37],
    "name": "frame",
}
TEXTS = Value("texts", "list", 5, length=120, kinds={"str": 116, "nan": 4}, odd=(0, 37))
OWN = Frame(
    Place("train.py", 6),
    "<module>",
    own=True,
    line="encoded = tokenizer(texts, padding=True)",
    expression="tokenizer(texts, padding=True)",
    values=(TEXTS,),
)
LIBRARY = Frame(Place("transformers/tokenization_utils_base.py", 9), "__call__", own=False)


def found(
    own: Frame = OWN,
    tables: list[dict[str, Any]] | None = None,
    text: str = TEXT,
    library: Frame = LIBRARY,
) -> list[Finding]:
    crash = Crash("1-1", 1.0, Process(1), "TypeError", "TypeError: no", (own, library))
    known = {"tables": [TABLE] if tables is None else tables}
    answer = Answer(Question("missing-texts", "1-1"), known)
    return list(RULE.look(Recording([Script("train.py", text), crash, answer])))


def test_rows_are_left_out_where_the_table_gets_its_name() -> None:
    (finding,) = found()
    assert finding.place == Place("train.py", 4)
    assert finding.headline.startswith("4 of 120 rows have no `body`: it is nan there")
    fix = finding.fixes[0]
    assert fix.edit is not None
    assert fix.must == RowsLeftOut(
        "frame", ("body",), Place("train.py", 4), Place("train.py", 5), 4
    )
    assert (
        'frame = load("posts.csv")\nframe = frame.dropna(subset=["body"]).reset_index(drop=True)\n'
    ) in patched(fix.edit, TEXT)
    assert "4 of 120 rows are lost" in fix.text


def test_without_a_table_the_call_is_named_and_nothing_is_tried() -> None:
    (finding,) = found(tables=[])
    assert finding.place == Place("train.py", 6)
    assert finding.headline.startswith("4 of 120 texts are nan")
    assert finding.fixes[0].edit is None


def test_a_text_that_is_asked_for_its_words() -> None:
    text = TEXT.replace("encoded = tokenizer(texts, padding=True)", "words = one.lower()")
    own = replace(
        OWN,
        line="words = one.lower()",
        expression="one.lower",
        values=(Value("one", "float", 1, scalar=float("nan")),),
    )
    (finding,) = found(own, text=text, library=own)
    assert finding.place == Place("train.py", 4)
    assert found(own, tables=[], text=text, library=own) == []
    number = replace(own, values=(Value("one", "float", 1, scalar=2.5),))
    assert found(number, text=text, library=number) == []


def test_whole_texts_and_other_things_are_passed_over() -> None:
    whole = replace(TEXTS, kinds={"str": 120}, odd=())
    assert found(replace(OWN, values=(whole,))) == []
    numbers = replace(TEXTS, kinds={"str": 100, "int": 19, "NoneType": 1})
    assert found(replace(OWN, values=(numbers,))) == []
    elsewhere = replace(LIBRARY, place=Place("torch/nn/functional.py", 3))
    assert found(library=elsewhere) == []


def test_exactly_the_rows_without_a_text_must_go() -> None:
    must = RowsLeftOut("frame", ("body",), Place("train.py", 4), Place("train.py", 5), 4)

    def judged(left: int, gaps: int) -> bool:
        whole = Value(
            "frame", "DataFrame", 1, length=120, members={"body": Value("body", "Series", nones=4)}
        )
        kept = Value(
            "frame",
            "DataFrame",
            2,
            length=left,
            members={"body": Value("body", "Series", nones=gaps)},
        )
        came = [
            Passed(Process(1), must.first, 0, (whole,)),
            Passed(Process(1), must.second, 0, (kept,)),
        ]
        return must.judge(Recording([]), Recording([*came])).held

    assert judged(116, 0)
    assert not judged(110, 0)
    assert not judged(116, 1)
    assert not must.judge(Recording([]), Recording([])).decided
