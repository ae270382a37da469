"""States that were carried over to the last batch, on hand-made recordings."""

from dataclasses import replace
from typing import Any

from recorded_operations import found_by
from surefit.doctor.conditions.batches import WholeBatches
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Answer,
    Crash,
    Frame,
    Layer,
    Operation,
    Process,
    Question,
    Script,
    Value,
)
from surefit.doctor.recording import Recording
from surefit.rules.batch.state_of_another_batch import RULE
from surefit.rules.model.feature_width_mismatch import RULE as WIDTHS
from surefit.source.edits import patched

TEXT = "loader = DataLoader(rows, batch_size=16)\nfor x, y in loader:\n    out, h = rnn(x, h)\n"
RNN = Layer("GRU", "", "GRU", Place("train.py", 9), sizes={"input_size": 3, "hidden_size": 10})
OWN = Frame(
    Place("train.py", 3),
    "<module>",
    own=True,
    line="out, h = rnn(x, h)",
    expression="rnn(x, h)",
    values=(Value("rnn", "GRU", 1, layer=RNN), Value("x", "Tensor", 2, shape=(6, 9, 3))),
)
FORWARD = Frame(
    Place("torch/rnn.py", 1400),
    "GRU.forward",
    own=False,
    values=(Value("input", "Tensor", 2, shape=(6, 9, 3)),),
    layer=RNN,
    arguments=("self", "input", "hx"),
)


def checked(given: tuple[int, ...], wanted: tuple[int, ...]) -> Frame:
    sizes = {str(at): Value(str(at), "int", scalar=size) for at, size in enumerate(wanted)}
    return Frame(
        Place("torch/rnn.py", 360),
        "RNNBase.check_hidden_size",
        own=False,
        values=(
            Value("hx", "Tensor", 5, shape=given),
            Value("expected_hidden_size", "tuple", 6, length=3, members=sizes),
        ),
        layer=RNN,
        arguments=("self", "hx", "expected_hidden_size", "msg"),
    )


CRASH = Crash(
    "1-1",
    1.0,
    Process(1),
    "RuntimeError",
    "RuntimeError: hidden",
    (OWN, FORWARD, checked((1, 16, 10), (1, 6, 10))),
    steps=4,
)
CARRIED = (
    Operation(8, "detach", Place("train.py", 3), None, True, (1, 16, 10), "float32", True, (7,)),
    Operation(7, "gru", Place("train.py", 3), None, False, (1, 16, 10), "float32", True),
)
LOADER = {"made": "train.py", "line": 1, "size": 16, "yielded": 5, "rows": 70, "workers": 0}


def found(
    crash: Crash = CRASH, story: tuple[Operation, ...] = CARRIED, **more: Any
) -> list[Finding]:
    loaders = Answer(Question("loaders", "1-1"), {"loaders": [{**LOADER, **more}]})
    return found_by(RULE, TEXT, crash, loaders, stories={(2, "hx"): story})


def test_the_last_batch_is_left_out_and_the_rows_are_counted() -> None:
    (finding,) = found()
    assert finding.place.line == 1
    assert "70 = 4 × 16 + 6" in finding.headline
    fix = finding.fixes[0]
    assert "6 of 70 rows" in fix.text
    assert "shuffle" not in fix.text
    assert fix.edit is not None
    assert "batch_size=16, drop_last=True)" in patched(fix.edit, TEXT)
    assert fix.must == WholeBatches(
        place=Place("train.py", 3), text="x", mode="rnn.training", rows=16
    )


def test_rows_of_an_evaluation_are_not_evaluated() -> None:
    resting = replace(RNN, training=False)
    own = replace(OWN, values=(Value("rnn", "GRU", 1, layer=resting), OWN.values[1]))
    frames = (own, *(replace(one, layer=resting) for one in CRASH.frames[1:]))
    (finding,) = found(replace(CRASH, frames=frames))
    fix = finding.fixes[0]
    assert "6 of 70 rows are then not evaluated: a mean over them is one over 64" in fix.text
    assert fix.must == WholeBatches(
        place=Place("train.py", 3), text="x", mode="rnn.training", rows=16, training=False
    )


def test_look_alikes_are_silent() -> None:
    made = (replace(CARRIED[1], name="zeros"),)
    assert found(story=made) == [], "made with a number, not carried over"
    wide = replace(CRASH, frames=(OWN, FORWARD, checked((1, 16, 8), (1, 6, 10))))
    assert found(wide) == [], "another width, too"
    assert found(yielded=3) == [], "not the last batch"
    assert found(size=32, rows=None) == [], "not the state of a whole batch"


def test_a_state_is_no_input_of_another_width() -> None:
    assert list(WIDTHS.look(Recording([Script("train.py", TEXT), CRASH]))) == []
