"""Missing texts on hand-made recordings: which column, which statement, what is passed over."""

from dataclasses import replace
from textwrap import dedent
from typing import Any

from lineages import Step
from recorded_crashes import look, mended
from surefit.doctor.conditions.condition import All
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Process,
    Question,
    Value,
)
from surefit.rules.data.missing_texts import RULE

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
    whole = Value("frame", "DataFrame", 4, length=120)
    chain: tuple[Step, ...] = (("texts", TEXTS), ("frame", whole), ("pd.read_csv(path)", whole))
    if "texts" not in text.splitlines()[-1]:
        chain = (("one", own.values[0]), *chain[1:])
    return look(RULE, text, crash, answer, chains={(0, chain[0][0]): chain})


def test_rows_are_left_out_where_they_are_read() -> None:
    (finding,) = found()
    assert finding.place == Place("train.py", 3, 3)
    assert finding.headline.startswith("4 of 120 rows have no `body`: it is nan there")
    first, second = finding.fixes
    dropped = 'return pd.read_csv(path).dropna(subset=["body"]).reset_index(drop=True)\n'
    assert dropped in mended(finding, TEXT)
    assert first.choice
    assert "4 of 120 rows are lost" in first.text
    assert second.choice
    assert 'return pd.read_csv(path).fillna({"body": ""})\n' in mended(finding, TEXT, 1)


def test_exactly_the_rows_with_a_text_are_left() -> None:
    text = TEXT.replace('load("posts.csv")', "pd.read_csv(path)").replace(
        "return pd.read_csv(path)", "return path"
    )
    (finding,) = found(text=text)
    must = finding.fixes[0].must
    assert isinstance(must, All)
    left = (Wanted("frame", rows=116),)
    assert must.conditions[0] == ValuesAt(Place("train.py", 4, 4), left, after=True, at=0)


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
    assert finding.place == Place("train.py", 3, 3)
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
