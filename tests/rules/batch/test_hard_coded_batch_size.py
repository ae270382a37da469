"""Numbers that stand for the rows of a batch, on hand-made recordings."""

import ast
from dataclasses import replace

import pytest

from recorded_operations import found_by
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Operation,
    Process,
    Question,
    Value,
)
from surefit.rules.batch.hard_coded_batch_size import RULE
from surefit.source.edits import patched
from surefit.source.reading import Source

LOADER = {"made": "train.py", "line": 1, "size": 16, "yielded": 4, "rows": 53, "workers": 0}
HEAD = "for x, y in loader:\n    "


def frame_at(text: str, expression: str, *values: Value, line: int = 2) -> Frame:
    """The one in which an expression of this text failed."""
    source = Source("train.py", text)
    node = next(
        one
        for one in source.every(ast.expr)
        if source.segment(one) == expression and one.lineno == line
    )
    return Frame(
        Place("train.py", line),
        "<module>",
        own=True,
        line=source.lines[line - 1].strip(),
        expression=expression,
        span=source.span(node),
        values=(
            Value("x", "Tensor", 1, shape=(5, 8)),
            Value("y", "Tensor", 2, shape=(5,)),
            *values,
        ),
    )


def found(text: str, *frames: Frame, story: tuple[Operation, ...] = ()) -> list[Finding]:
    crash = Crash("1-1", 1.0, Process(1), "RuntimeError", "RuntimeError: shape", frames, steps=3)
    loaders = Answer(Question("loaders", "1-1"), {"loaders": [LOADER]})
    stories = {(len(frames) - 1, name): story for name in ("noise", "hx", "torch.arange(B)")}
    return found_by(RULE, text, crash, loaders, stories=stories if story else {})


B = Value("B", "int", 9, scalar=16)


def test_a_reshape_fits_with_the_rows_of_the_last_batch() -> None:
    text = f"{HEAD}x = x.view(B, 2, 4)\n"
    (finding,) = found(text, frame_at(text, "x.view(B, 2, 4)", B))
    assert finding.place.line == 2
    assert "batches of 16 rows, and the last batch has 5" in finding.headline
    assert ("rows", "the last batch has 5: 53 = 3 × 16 + 5") in [
        (fact.name, fact.value) for fact in finding.facts
    ]
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert "x.view(x.size(0), 2, 4)" in patched(fix.edit, text)
    assert fix.must == ValuesAt(Place("train.py", 2), (Wanted("x", (5, 2, 4)),), after=True)


@pytest.mark.parametrize("call", ["x.view(5, 3, 3)", "x.view(16, 3, 3)", "x.view(B, 2, 5)"])
def test_a_reshape_that_fits_no_number_of_rows_is_another_fault(call: str) -> None:
    text = f"{HEAD}x = {call}\n"
    assert found(text, frame_at(text, call, B)) == []


def test_a_loop_counts_the_rows_that_are_there() -> None:
    text = f"{HEAD}for i in range(B):\n        total += x[i]\n"
    (finding,) = found(text, frame_at(text, "x[i]", B, Value("i", "int", 8, scalar=5), line=3))
    assert finding.place.line == 2
    assert finding.fixes[0].edit is not None
    assert "range(len(x))" in patched(finding.fixes[0].edit, text)


def test_an_index_past_the_end_for_another_reason_is_none() -> None:
    text = f"{HEAD}for i in range(B):\n        total += x[i]\n"
    assert found(text, frame_at(text, "x[i]", B, Value("i", "int", 8, scalar=7), line=3)) == []


MADE = Operation(
    3, "randn", Place("train.py", 2), Place("train.py", 2), True, (16, 8), "float32", True
)
NOISE = Value("noise", "Tensor", 5, shape=(16, 8))


def test_what_was_made_with_a_number_is_made_with_the_rows() -> None:
    text = f"{HEAD}noise = torch.randn(B, 8)\n    x = x + noise\n"
    (finding,) = found(text, frame_at(text, "x + noise", NOISE, line=3), story=(MADE,))
    assert finding.place.line == 2
    assert finding.fixes[0].edit is not None
    assert "torch.randn(x.size(0), 8)" in patched(finding.fixes[0].edit, text)


def test_what_was_made_before_the_loop_is_cut_where_it_is_used() -> None:
    text = "noise = torch.randn(B, 8)\nfor x, y in loader:\n    x = x + noise\n"
    made = replace(MADE, place=Place("train.py", 1))
    (finding,) = found(text, frame_at(text, "x + noise", NOISE, line=3), story=(made,))
    assert finding.place.line == 1
    assert finding.fixes[0].edit is not None
    assert "x + noise[: x.size(0)]" in patched(finding.fixes[0].edit, text)


def test_one_row_that_was_spread_to_a_number_of_rows() -> None:
    text = f"{HEAD}noise = token.expand(B, 8)\n    x = x + noise\n"
    spread = replace(MADE, name="expand", takes=(1,))
    one = replace(MADE, serial=1, name="parameter", place=None, shape=(1, 8))
    (finding,) = found(text, frame_at(text, "x + noise", NOISE, line=3), story=(spread, one))
    assert finding.fixes[0].edit is not None
    assert "token.expand(x.size(0), 8)" in patched(finding.fixes[0].edit, text)


def test_what_is_made_in_the_failing_line() -> None:
    text = f"{HEAD}x = x[torch.arange(B), y]\n"
    (finding,) = found(
        text,
        frame_at(text, "x[torch.arange(B), y]", B),
        story=(replace(MADE, name="arange", shape=(16,)),),
    )
    assert finding.fixes[0].edit is not None
    assert "torch.arange(x.size(0))" in patched(finding.fixes[0].edit, text)


def test_look_alikes_are_silent() -> None:
    asked = f"{HEAD}n = y.shape[0] + 11\n    noise = torch.randn(n, 8)\n    x = x + noise\n"
    made = replace(MADE, place=Place("train.py", 3))
    assert found(asked, frame_at(asked, "x + noise", NOISE, line=4), story=(made,)) == []
    text = f"{HEAD}noise = torch.randn(B, 8)\n    x = x + noise\n"
    computed = replace(MADE, name="linear")
    assert found(text, frame_at(text, "x + noise", NOISE, line=3), story=(computed,)) == []
    long = replace(NOISE, shape=(5, 16))
    made = replace(MADE, shape=(5, 16))
    assert found(text, frame_at(text, "x + noise", long, line=3), story=(made,)) == [], "no rows"


def test_what_is_made_twice_in_a_line_is_made_twice_with_the_rows() -> None:
    text = f"{HEAD}noise, more = torch.randn(B, 8), torch.randn(B, 8)\n    x = x + noise\n"
    (finding,) = found(text, frame_at(text, "x + noise", NOISE, line=3), story=(MADE,))
    assert finding.fixes[0].edit is not None
    twice = "torch.randn(x.size(0), 8), torch.randn(x.size(0), 8)"
    assert twice in patched(finding.fixes[0].edit, text)


@pytest.mark.parametrize("given", ["shape", "*shape"])
def test_sizes_are_looked_up_where_they_are_written(given: str) -> None:
    text = f"{HEAD}shape = (B, 8)\n    noise = torch.randn({given})\n    x = x + noise\n"
    made = replace(MADE, place=Place("train.py", 3))
    (finding,) = found(text, frame_at(text, "x + noise", NOISE, line=4), story=(made,))
    assert finding.place.line == 2
    assert finding.fixes[0].edit is not None
    assert "shape = (x.size(0), 8)" in patched(finding.fixes[0].edit, text)
