"""Columns that do not have one length, on hand-made recordings."""

from recorded_crashes import look, mended
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Crash, Frame, Process, Value
from surefit.rules.data.columns_of_different_lengths import RULE
from surefit.source.spans import Span

MAPPED = "rows = texts.map(windows, batched=True)\n"
TEXTS = Value("texts", "Dataset", 1, length=40, members={"text": Value("text", "Column")})


def columns(**lengths: int) -> dict[str, Value]:
    return {name: Value(name, "list", length=length) for name, length in lengths.items()}


def crashed(text: str, part: str, *values: Value, inner: Frame) -> Crash:
    line = text.count("\n")
    at = text.splitlines()[-1].index(part)
    span = Span(line, at, line, at + len(part))
    own = Frame(Place("train.py", line), "<module>", True, "", part, span, values)
    return Crash("1-1", 1.0, Process(1), "ValueError", "ValueError: no", (own, inner))


def mapped(source: str = MAPPED, **lengths: int) -> list[Finding]:
    batch = Value("batch", "dict", 2, members=columns(**lengths))
    place = Place("datasets/arrow_dataset.py", 9)
    inner = Frame(place, "Dataset._map_single", own=False, values=(batch,))
    part = source.partition("= ")[2].strip()
    return look(RULE, source, crashed(source, part, TEXTS, inner=inner))


def test_old_columns_are_dropped_where_the_number_of_rows_changes() -> None:
    (finding,) = mapped(text=40, ids=118, labels=118)
    assert finding.headline == (
        "The mapped function returns 118 rows for 40, and the old columns `text` keep 40."
    )
    assert "batched=True, remove_columns=texts.column_names)" in mended(finding, MAPPED)


def test_a_dataset_without_a_name_is_not_loaded_twice() -> None:
    source = "rows = load().map(windows, batched=True)\n"
    (finding,) = mapped(source, text=40, ids=118)
    assert 'remove_columns=["text"])' in mended(finding, source)


def test_returned_columns_of_two_lengths_are_not_mended_by_dropping_others() -> None:
    (finding,) = mapped(text=40, ids=118, labels=40)
    (fix,) = finding.fixes
    assert fix.edit is None


def test_a_table_is_created_from_columns_of_two_lengths() -> None:
    source = 'scores = score(n)\ntable = pd.DataFrame({"text": texts, "score": scores})\n'
    part = 'pd.DataFrame({"text": texts, "score": scores})'
    texts, scores = Value("texts", "list", 3, length=20), Value("scores", "list", 4, length=18)
    data = Value("data", "dict", 5, members=columns(text=20, score=18))
    inner = Frame(Place("pandas/core/frame.py", 9), "DataFrame.__init__", False, values=(data,))
    crash = crashed(source, part, texts, scores, inner=inner)
    chain = (("scores", scores), ("score(n)", scores))
    (finding,) = look(RULE, source, crash, chains={(0, "scores"): chain})
    assert finding.headline.startswith("`text` has 20 values and `score` has 18 values")
    assert [fact.value for fact in finding.facts] == ["train.py:1  score(n)"]


def test_a_column_is_set_that_the_table_has_no_rows_for() -> None:
    source = 'table["label"] = labels\n'
    values = (
        Value("self", "DataFrame", 1, length=20),
        Value("value", "list", 2, length=18),
        Value("key", "str", 3, scalar="label"),
    )
    inner = Frame(Place("pandas/core/frame.py", 9), "DataFrame.__setitem__", False, values=values)
    (finding,) = look(RULE, source, crashed(source, 'table["label"]', inner=inner))
    assert finding.headline.startswith("`label` has 18 values and the table 20 rows")


def test_silence() -> None:
    assert mapped(text=40, ids=40) == []
    assert mapped(ids=118, labels=118) == []
