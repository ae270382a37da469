"""Operations are told in the order they were made, with the lines that made them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from surefit.observe.inside.stories import recorder as recorder_module
from surefit.observe.inside.stories.clamps import Clamped
from surefit.observe.inside.stories.recorder import (
    GIVEN,
    PARAMETER,
    Made,
    Recorder,
    note_arrays,
    recording_mode,
)


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    made = Recorder(torch)
    with recording_mode(made):
        yield made


def story(recorder: Recorder, tensor: Any) -> list[str]:
    """Names from the newest to the oldest, along the first tensor that each one took."""
    made = recorder.made[recorder.serial_of(tensor)]
    names = [made.name]
    while made.takes:
        made = recorder.made[made.takes[0]]
        names.append(made.name)
    return names


def of(recorder: Recorder, tensor: Any) -> Made:
    return recorder.made[recorder.serial_of(tensor)]


def test_a_slice_is_told_as_what_made_a_tensor_not_contiguous(recorder: Recorder) -> None:
    batch = torch.arange(24).reshape(4, 6)
    labels = batch[:, 1:]
    assert story(recorder, labels) == ["__getitem__", "reshape", "arange"]
    assert not of(recorder, labels).contiguous
    assert of(recorder, batch).contiguous
    assert of(recorder, labels).shape == (4, 5)


def test_what_gives_back_its_own_input_makes_nothing_new(recorder: Recorder) -> None:
    batch = torch.zeros(3, 4)
    sliced = batch[:, 1:]
    assert sliced.to(torch.float32) is sliced
    assert story(recorder, sliced) == ["__getitem__", "zeros"]


def test_a_change_in_place_is_part_of_the_story(recorder: Recorder) -> None:
    values = torch.zeros(5)
    values.add_(1.5)
    values[0] = 3.0
    assert story(recorder, values) == ["__setitem__", "add_", "zeros"]
    assert recorder.made[of(recorder, values).takes[0]].numbers == (1.5,)


def test_writing_a_graph_into_a_tensor_hides_no_history(recorder: Recorder) -> None:
    weight = torch.ones(2, requires_grad=True)
    values = torch.zeros(2)
    values[:] = weight * 3
    made = of(recorder, values)
    assert (made.name, made.grad) == ("__setitem__", True)
    assert not any(one.unseen for one in recorder.made.values())


def test_a_parameter_stays_one_whatever_is_written_into_it(recorder: Recorder) -> None:
    layer = nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.fill_(1.0)
    out = layer(torch.ones(1, 3))
    takes = [recorder.made[serial].name for serial in of(recorder, out).takes]
    assert takes == ["ones", PARAMETER, PARAMETER]


def test_a_freed_tensor_lends_its_number_to_nobody(recorder: Recorder) -> None:
    for _ in range(200):
        passing = torch.zeros(3)
        assert of(recorder, passing).name == "zeros"
        del passing
        passing = torch.ones(3)
        assert of(recorder, passing).name == "ones"


def test_what_no_operation_made_is_given(recorder: Recorder) -> None:
    with recorder.pause():
        outside = torch.ones(2, 3)[:, :2]
    doubled = outside * 2
    assert story(recorder, doubled) == ["mul", GIVEN]
    assert not of(recorder, outside).contiguous


def test_a_function_with_its_own_backward_is_a_history_that_was_not_seen(
    recorder: Recorder,
) -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(_: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(_: Any, *gradients: Any) -> Any:
            return 2 * gradients[0]

    twice: Any = Twice
    out = twice.apply(torch.ones(2, requires_grad=True)).sum()
    made = of(recorder, out)
    assert recorder.made[made.takes[0]].unseen
    assert recorder.made[made.takes[0]].grad


def test_single_numbers_and_weights_are_kept(recorder: Recorder) -> None:
    logits = torch.zeros(4, 8, requires_grad=True)
    loss = 0.9 * F.cross_entropy(logits, torch.zeros(4, dtype=torch.long))
    made = of(recorder, loss)
    assert made.numbers == (0.9,)
    assert made.result == pytest.approx(0.9 * 2.0794415)
    assert recorder.made[made.takes[0]].name == "cross_entropy"
    assert made.grad


def test_lines_are_those_of_this_file_and_of_the_library(recorder: Recorder) -> None:
    layer = nn.Linear(3, 2)
    out = layer(torch.ones(1, 3))
    made = of(recorder, out)
    assert made.line is not None
    assert made.inside is not None
    assert made.line.place.file == __file__
    text = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert text[made.line.number - 1].strip() == "out = layer(torch.ones(1, 3))"
    assert made.inside.place.file.endswith("torch/nn/modules/linear.py")


def test_an_operation_over_lines_has_its_last_line(recorder: Recorder) -> None:
    summed = torch.add(
        torch.ones(2),
        torch.ones(2),
    )
    line = of(recorder, summed).line
    assert line is not None
    assert line.place.end_line == (line.place.line or 0) + 3


def test_an_operation_that_fails_fails_as_it_would_have(recorder: Recorder) -> None:
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        torch.zeros(3, 4)[:, 1:].view(-1)
    assert recorder.active


def test_old_operations_are_forgotten(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "MOST_KEPT", 50)
    kept = torch.zeros(1)
    for _ in range(200):
        kept = kept + 1
    assert len(recorder.made) <= 51
    assert of(recorder, kept).name == "add"


def test_results_and_random_numbers_are_the_same_with_and_without() -> None:
    def run() -> list[float]:
        torch.manual_seed(3)
        layer = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Hardtanh())
        values = layer(torch.rand(2, 4)).flatten()
        return [*values.detach().tolist(), float(torch.rand(()))]

    plain = run()
    with recording_mode(Recorder(torch)):
        assert run() == plain


@pytest.mark.parametrize(
    ("clamp", "expected"),
    [
        (lambda x: x.clamp(-10, 10), Clamped(4, 3, -60.0, 20.0, (-10.0, 10.0))),
        (lambda x: torch.clip(x, max=5), Clamped(4, 1, -60.0, 20.0, (5.0,))),
        (lambda x: torch.clamp(x, min=torch.tensor(0.0)), Clamped(4, 2, -60.0, 20.0, (0.0,))),
        (lambda x: (x * 1).clamp_(-10, 10), Clamped(4, 3, -60.0, 20.0, (-10.0, 10.0))),
        (lambda x: F.hardtanh(x, -60, 10), Clamped(4, 2, -60.0, 20.0, (-60.0, 10.0))),
        (lambda x: nn.ReLU6()(x), Clamped(4, 3, -60.0, 20.0, (0.0, 6.0))),
        (lambda x: F.hardsigmoid(x), Clamped(4, 3, -60.0, 20.0, (-3.0, 3.0))),
        (lambda x: torch.minimum(x, torch.tensor(4.0)), Clamped(4, 1, -60.0, 20.0, (4.0,))),
        (lambda x: torch.max(torch.tensor(0.0), x), Clamped(4, 2, -60.0, 20.0, (0.0,))),
    ],
)
def test_clamps_say_what_they_hold_back(recorder: Recorder, clamp: Any, expected: Clamped) -> None:
    values = torch.tensor([-60.0, -50.0, 2.0, 20.0], requires_grad=True)
    out = clamp(values)
    assert of(recorder, out).clamped == expected
    gradient = torch.autograd.grad(out.sum(), values)[0]
    assert int((gradient == 0).sum()) == expected.saturated


@pytest.mark.parametrize(
    "harmless",
    [
        lambda x: x.detach().clamp(-1, 1),
        lambda x: x.max(),
        lambda x: torch.maximum(x, 2 * x),
        lambda x: torch.minimum(x, torch.ones(4)),
        lambda x: x.max(dim=0).values,
    ],
)
def test_what_is_no_clamp_is_not_looked_at(recorder: Recorder, harmless: Any) -> None:
    out = harmless(torch.tensor([-60.0, -50.0, 2.0, 20.0], requires_grad=True))
    assert of(recorder, out).clamped is None


def test_a_cast_parameter_is_told_as_it_is_now(recorder: Recorder) -> None:
    layer = nn.Linear(2, 2)
    layer(torch.zeros(1, 2))
    assert of(recorder, layer.weight).dtype == "float32"
    layer.half()
    assert of(recorder, layer.weight).dtype == "float16"


def test_an_array_that_becomes_a_tensor_is_told(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "from_numpy", torch.from_numpy)
    note_arrays(recorder)
    made = of(recorder, torch.from_numpy(numpy.zeros(3)))
    assert (made.name, made.dtype) == ("from_numpy", "float64")
