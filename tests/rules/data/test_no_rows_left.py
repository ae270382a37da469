"""Loaders without rows, on hand-made recordings: what left nothing, and what is passed over."""

from dataclasses import replace

from lineages import Step
from recorded_crashes import look, mended
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Crash, Frame, Process, Question, Value
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
NOTHING = Value("train", "list", 3, length=0)
KEPT = '[row for row in rows if row.part == "train"]'
CHAIN: tuple[Step, ...] = (("train", NOTHING), (KEPT, NOTHING), ("rows", ROWS))


def found(
    *frames: Frame, text: str = TEXT, chain: tuple[Step, ...] = CHAIN, of: str = "data_source"
) -> list[Finding]:
    crash = Crash("1-1", 1.0, Process(1), "ValueError", "ValueError: no", frames)
    loader = {"made": "train.py", "line": 2, "size": 8, "rows": 0}
    said = Answer(Question("empty-loaders", "1-1"), {"loaders": [loader]})
    return look(RULE, text, crash, said, chains={(len(frames) - 1, of): chain})


def test_the_line_that_keeps_nothing_is_named() -> None:
    (finding,) = found(MADE, SAMPLER)
    assert finding.place == Place("train.py", 1, 1)
    assert "keeps nothing of the 40 rows of `rows`" in finding.headline


def test_a_division_by_the_length_of_a_loader() -> None:
    text = TEXT.replace("mean =", "for batch in loader:\n    total += step(batch)\nmean =")
    loader = Value("loader", "DataLoader", 2, made_at=Place("train.py", 2))
    divided = Frame(Place("train.py", 5), "<module>", own=True, values=(ROWS, loader))
    (finding,) = found(divided, text=text, of="loader")
    assert finding.place == Place("train.py", 1, 1)


def test_a_share_that_rounds_down_to_nothing() -> None:
    text = TEXT.replace(KEPT, "cut(rows, int(0.01 * len(rows)))")
    zero = Value("int", "int", 5, scalar=0)
    made = Value("cut", "Subset", 6)
    chain: tuple[Step, ...] = (
        ("cut(rows, int(0.01 * len(rows)))", made),
        ("int(0.01 * len(rows))", zero),
    )
    (finding,) = found(MADE, SAMPLER, text=text, chain=chain)
    assert finding.headline == "`int(0.01 * len(rows))` is 0, so that the loader has no rows."
    assert "cut(rows, max(1, int(0.01 * len(rows))))" in mended(finding, text)


def test_rows_from_nowhere_are_told_at_the_loader() -> None:
    (finding,) = found(MADE, SAMPLER, chain=())
    assert finding.headline == "The dataset of the loader has no rows."
    assert finding.place.line == 2


def test_samplers_of_other_numbers_are_passed_over() -> None:
    many = replace(SAMPLER, values=(*SAMPLER.values[1:], Value("num_samples", "int", scalar=-3)))
    assert found(MADE, many) == []
    full = replace(SAMPLER, values=(Value("data_source", "list", length=4),))
    assert found(MADE, full) == []
    assert found(MADE) == []
