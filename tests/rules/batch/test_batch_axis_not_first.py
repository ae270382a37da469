"""Layers that take steps first and were given rows first, on hand-made recordings."""

from dataclasses import replace

from recorded_operations import found_by
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import (
    Crash,
    Frame,
    Layer,
    Operation,
    Process,
    Value,
)
from surefit.rules.batch.batch_axis_not_first import RULE
from surefit.source.edits import patched
from surefit.source.spans import Span

TEXT = (
    "rnn = nn.GRU(3, 8)\n"
    "attn = nn.MultiheadAttention(16, 4)\n"
    "for x, y in loader:\n"
    "    out, h = rnn(x, start)\n"
    "    out = attn(x, x, x, key_padding_mask=pad)\n"
    "    loss = entropy(guessed, y)\n"
)
GRU = Layer("GRU", "", "GRU", Place("train.py", 1), sizes={"input_size": 3})
X = Value("x", "Tensor", 1, shape=(10, 6, 3))


def own(line: int, expression: str, *values: Value) -> Frame:
    text = TEXT.splitlines()[line - 1]
    begin = text.index(expression)
    return Frame(
        Place("train.py", line),
        "<module>",
        own=True,
        line=text.strip(),
        expression=expression,
        span=Span(line, begin, line, begin + len(expression)),
        values=(X, *values),
    )


def crashed(*frames: Frame) -> Crash:
    return Crash("1-1", 1.0, Process(1), "RuntimeError", "RuntimeError: rows", frames)


def found(crash: Crash, *story: Operation, text: str = TEXT) -> list[Finding]:
    return found_by(RULE, text, crash, stories={(1, "input"): story} if story else {})


def state(rows: int, wanted: int) -> tuple[Frame, Frame]:
    sizes = {str(at): Value(str(at), "int", scalar=size) for at, size in enumerate((1, wanted, 8))}
    values = (
        Value("hx", "Tensor", 5, shape=(1, rows, 8)),
        Value("expected_hidden_size", "tuple", 6, length=3, members=sizes),
    )
    inside = Frame(Place("torch/rnn.py", 9), "GRU.forward", False, layer=GRU)
    return (
        replace(inside, values=(replace(X, text="input"),), arguments=("self", "input", "hx")),
        replace(inside, values=values, arguments=("self", "hx", "expected_hidden_size", "msg")),
    )


def test_a_state_has_the_rows_that_the_layer_took_for_steps() -> None:
    (finding,) = found(crashed(own(4, "rnn(x, start)"), *state(10, 6)))
    assert finding.place.line == 1
    assert "takes the 6 steps of this batch for rows, and its 10 rows for steps" in finding.headline
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert "nn.GRU(3, 8, batch_first=True)" in patched(fix.edit, TEXT)
    assert fix.must == ValuesAt(Place("train.py", 4), (Wanted("out", (10, 6, None)),), after=True)


def test_a_state_for_other_rows_is_another_fault() -> None:
    assert found(crashed(own(4, "rnn(x, start)"), *state(16, 10))) == []
    assert found(crashed(own(4, "rnn(x, start)"), *state(16, 6))) == []


def padded(shape: tuple[int, int], rows: int) -> Crash:
    values = (
        Value("key_padding_mask", "Tensor", 7, shape=shape),
        Value("bsz", "int", 8, scalar=rows),
    )
    inside = Frame(Place("torch/f.py", 9), "_check_key_padding_mask", False, values=values)
    layer = Layer("MultiheadAttention", "attn", "Net", Place("train.py", 2))
    frame = own(5, "attn(x, x, x, key_padding_mask=pad)")
    return replace(crashed(frame, inside), layer=layer)


def test_a_padding_mask_is_right_and_the_layer_is_not() -> None:
    (finding,) = found(padded((10, 6), 6))
    assert finding.place.line == 2
    assert finding.fixes[0].edit is not None
    assert "(16, 4, batch_first=True)" in patched(finding.fixes[0].edit, TEXT)


def test_the_layer_is_right_and_the_padding_mask_is_not() -> None:
    (finding,) = found(padded((6, 10), 10))
    assert finding.place.line == 5
    assert finding.fixes[0].edit is not None
    assert "key_padding_mask=pad.transpose(0, 1))" in patched(finding.fixes[0].edit, TEXT)


def test_a_padding_mask_of_other_sizes_is_another_fault() -> None:
    assert found(padded((10, 7), 6)) == []
    assert found(padded((9, 6), 6)) == [], "neither has the rows of the batch"


LOSS = Frame(
    Place("torch/nn/functional.py", 3555),
    "cross_entropy",
    False,
    values=(Value("input", "Tensor", 3, shape=(6, 2)), Value("target", "Tensor", 2, shape=(10,))),
    arguments=("input", "target"),
)
GUESSED = Value("guessed", "Tensor", 3, shape=(6, 2))
LABELS = Value("y", "Tensor", 2, shape=(10,))


def made(serial: int, name: str, shape: tuple[int, ...], *takes: int) -> Operation:
    place = Place("train.py", 4)
    return Operation(serial, name, place, place, False, shape, "float32", True, takes)


LAST = (made(9, "linear", (6, 2), 8), made(8, "__getitem__", (6, 8), 7))
STATES = made(7, "gru", (1, 6, 8), 6)
INTO = made(6, "embedding", (10, 6, 3))


def test_as_many_predictions_as_steps_come_from_the_last_state() -> None:
    crash = crashed(own(6, "entropy(guessed, y)", GUESSED, LABELS), LOSS)
    (finding,) = found(crash, *LAST, STATES, INTO)
    assert finding.place.line == 1
    wanted = (Wanted("guessed", (10, 2)), Wanted("y", (10,)))
    assert finding.fixes[0].must == ValuesAt(Place("train.py", 6), wanted)
    first = text_with("nn.GRU(3, 8, batch_first=True)")
    assert found(crash, *LAST, STATES, INTO, text=first) == []
    other = replace(INTO, shape=(10, 7, 3))
    assert found(crash, *LAST, STATES, other) == [], "the steps are not as many"


def test_lines_that_read_steps_first_get_steps_first() -> None:
    crash = crashed(own(6, "entropy(guessed, y)", GUESSED, LABELS), LOSS)
    (finding,) = found(crash, *LAST, replace(STATES, shape=(10, 6, 8)), INTO)
    assert finding.fixes[1].edit is not None
    assert "rnn(x.transpose(0, 1), start)" in patched(finding.fixes[1].edit, TEXT)


def text_with(layer: str) -> str:
    return TEXT.replace("nn.GRU(3, 8)", layer)
