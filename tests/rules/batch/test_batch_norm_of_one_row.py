"""Batch norms of a single value, on hand-made recordings: where it came from, and what stays."""

from dataclasses import replace
from textwrap import dedent
from typing import Any

from recorded_operations import found_by
from surefit.doctor.conditions.batches import WholeBatches
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Layer,
    Observation,
    Passed,
    Process,
    Question,
    Value,
    Watchpoint,
)
from surefit.doctor.recording import Recording
from surefit.rules.batch.batch_norm_of_one_row import RULE
from surefit.source.edits import patched

TEXT = dedent(
    """\
    loader = DataLoader(rows, batch_size=32, shuffle=True)
    for x, y in loader:
        loss = entropy(model(x), y)
    """
)
NORM = Layer("BatchNorm1d", "bn", "Net", Place("train.py", 9), sizes={"num_features": 5})
INSIDE = Frame(
    Place("torch/batchnorm.py", 200),
    "BatchNorm1d.forward",
    own=False,
    values=(Value("input", "Tensor", 2, shape=(1, 5)),),
    layer=NORM,
    arguments=("self", "input"),
)
LOOP = Frame(
    Place("train.py", 3),
    "<module>",
    own=True,
    line="loss = entropy(model(x), y)",
    expression="model(x)",
    values=(
        Value("model", "Net", 1, layer=Layer("Net", "", "Net", own=True)),
        Value("x", "Tensor", 2, shape=(1, 5)),
        Value("y", "Tensor", 3, shape=(1,)),
    ),
)
CRASH = Crash("1-1", 1.0, Process(1), "ValueError", "ValueError: one", (LOOP, INSIDE), steps=12)
LOADER = {
    "made": "train.py",
    "line": 1,
    "size": 32,
    "yielded": 13,
    "rows": 385,
    "workers": 0,
    "streams": False,
    "shuffles": True,
    "drops": False,
}


def answer(**more: Any) -> Answer:
    return Answer(Question("loaders", "1-1"), {"loaders": [{**LOADER, **more}]})


def found(crash: Crash, *more: Observation, text: str = TEXT) -> list[Finding]:
    return found_by(RULE, text, crash, *more)


def with_input(shape: tuple[int, ...], layer: Layer = NORM) -> Crash:
    given = (Value("input", "Tensor", 2, shape=shape),)
    return replace(CRASH, frames=(LOOP, replace(INSIDE, values=given, layer=layer)))


def test_the_remainder_is_counted_and_dropped_where_the_loader_is_made() -> None:
    (finding,) = found(CRASH, answer())
    assert finding.place.line == 1
    assert "385 = 12 × 32 + 1" in finding.headline
    fix = finding.fixes[0]
    assert "1 of 385 rows" in fix.text
    assert fix.edit is not None
    assert patched(fix.edit, TEXT) == TEXT.replace("True)", "True, drop_last=True)")
    assert fix.must == WholeBatches(
        place=Place("train.py", 3), text="x", mode="model.training", rows=32
    )


def test_a_line_that_makes_the_loader_of_evaluation_too_drops_where_it_shuffles() -> None:
    text = "def made(rows, shuffle):\n    return DataLoader(rows, batch_size=32, shuffle=shuffle)\n"
    text += "train, test = made(a, True), made(b, False)\n"
    (finding,) = found(CRASH, answer(line=2), text=text)
    assert finding.fixes[0].edit is not None
    assert "drop_last=shuffle" in patched(finding.fixes[0].edit, text)


def test_batches_of_one_row_are_the_users_choice() -> None:
    (finding,) = found(CRASH, answer(size=1, yielded=1))
    assert "batch_size=1" in finding.headline
    assert all(fix.choice for fix in finding.fixes)


def test_a_loop_over_range_stops_before_the_single_row() -> None:
    text = "for i in range(0, len(rows), 32):\n    x = rows[i:i + 32]\n    loss = model(x)\n"
    loop = replace(LOOP, values=(*LOOP.values, Value("i", "int", 9, scalar=384)))
    crash = replace(CRASH, frames=(loop, INSIDE))
    (finding,) = found(crash, Answer(Question("loaders", "1-1"), {"loaders": []}), text=text)
    assert finding.place.line == 1
    assert finding.fixes[0].edit is not None
    assert "range(0, len(rows) - 1, 32)" in patched(finding.fixes[0].edit, text)


def test_look_alikes_are_silent() -> None:
    assert found(with_input((2, 5)), answer()) == []
    assert found(with_input((1, 5, 4)), answer()) == []
    assert found(with_input((1, 7)), answer()) == [], "another width"
    assert found(with_input((1, 5), replace(NORM, training=False)), answer()) == []
    assert found(with_input((1, 5), replace(NORM, kind="LayerNorm")), answer()) == []


def test_one_row_of_many_is_no_last_batch() -> None:
    many = replace(LOOP, values=(LOOP.values[0], Value("x", "Tensor", 2, shape=(32, 5))))
    (finding,) = found(replace(CRASH, frames=(many, INSIDE)), answer())
    assert finding.place.line == 3
    assert "last batch" not in finding.headline


def passed(step: int, rows: int, training: bool) -> Passed:
    watched = Watchpoint(Place("train.py", 3), ("x", "model.training"))
    mode = Value("model.training", "bool", 5, scalar=training)
    return Passed(Process(1), watched, step, (Value("x", "Tensor", 6, shape=(rows, 5)), mode))


def test_whole_batches_in_training_hold_and_others_do_not() -> None:
    must = WholeBatches(place=Place("train.py", 3), text="x", mode="model.training", rows=32)
    before = Recording([CRASH])
    good = [passed(11, 32, True), passed(12, 1, False), passed(12, 32, True)]
    assert must.judge(before, Recording([*good])).held
    bad = must.judge(before, Recording([*good, passed(13, 1, True)]))
    assert not bad.held
    assert bad.decided
    assert not must.judge(before, Recording([passed(3, 32, True)])).decided
