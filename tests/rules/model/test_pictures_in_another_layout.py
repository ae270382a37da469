"""Pictures with channels last, or without any; maps that a layer has made are another matter."""

from dataclasses import asdict
from textwrap import dedent

import pytest

from failed_operations import crash
from surefit.doctor.conditions.values import ValuesAt
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Layer, Operation, Question, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.model.pictures_in_another_layout import RULE
from surefit.source.edits import patched

TEXT = dedent(
    """\
    class Rows(Dataset):
        def __getitem__(self, i):
            return {get}, 1
    for x, y in loader:
        out = net(x)
    """
)


def found(
    shape: tuple[int, ...], channels: int, get: str = "self.x[i]", kind: str = "Conv2d"
) -> list[Finding]:
    layer = Layer(kind, "0", "Sequential", Place("train.py", 5), sizes={"in_channels": channels})
    x = Value("x", "Tensor", 7, shape=shape, dtype="float32", device="cpu")
    frames = (
        Frame(Place("train.py", 5), "<module>", True, "out = net(x)", "net(x)", values=(x,)),
        Frame(
            Place("torch/nn/modules/conv.py", 1),
            "Conv2d.forward",
            False,
            values=(Value("input", "Tensor", 7, shape=shape),),
            layer=layer,
            arguments=("self", "input"),
        ),
    )
    script = Script("train.py", TEXT.format(get=get))
    return list(RULE.look(Recording([script, crash(*frames)])))


def test_channels_that_come_last_are_put_in_front_before_the_model() -> None:
    (finding,) = found((8, 24, 20, 3), 3)
    assert finding.place == Place("train.py", 5)
    (fix,) = finding.fixes
    assert fix.text == "Put its axes in order: `x = x.permute(0, 3, 1, 2)`."
    assert isinstance(fix.must, ValuesAt)
    assert fix.must.wanted[0].shape == (8, 3, 24, 20)


def test_a_dataset_that_returns_a_tensor_turns_it_there() -> None:
    (finding,) = found((8, 24, 20, 3), 3, "torch.from_numpy(self.x[i])")
    assert finding.place == Place("train.py", 3)
    assert "`torch.from_numpy(self.x[i]).permute(2, 0, 1)`" in finding.fixes[0].text


def test_grey_pictures_without_an_axis_for_channels() -> None:
    (finding,) = found((8, 24, 20), 1)
    assert finding.fixes[0].text == "Put its axes in order: `x = x.unsqueeze(1)`."


@pytest.mark.parametrize(
    ("shape", "channels"),
    [
        ((8, 3, 24, 20), 3),  # it fits
        ((8, 24, 3, 3), 3),  # two axes have as many
        ((8, 24, 20, 16), 16),  # no picture has 16 channels
        ((8, 1, 24, 20), 3),  # grey into colours
        ((24, 20, 3), 3),
    ],
)
def test_silence(shape: tuple[int, ...], channels: int) -> None:
    assert found(shape, channels) == []


def test_the_call_that_a_second_run_saw_make_each_picture_is_where_it_is_turned() -> None:
    """Through a function of the user's and a name, which the source alone does not follow."""
    text = TEXT.format(get="img") + "def load(i):\n    return torch.from_numpy(pictures[i])\n"
    (first,) = found((2, 24, 20, 3), 3, "img")
    assert first.place == Place("train.py", 5)
    layer = Layer("Conv2d", "0", "Sequential", Place("train.py", 5), sizes={"in_channels": 3})
    x = Value("x", "Tensor", 7, shape=(2, 24, 20, 3), dtype="float32", device="cpu")
    frames = (
        Frame(Place("train.py", 5), "<module>", True, "out = net(x)", "net(x)", values=(x,)),
        Frame(
            Place("torch/nn/modules/conv.py", 1),
            "Conv2d.forward",
            False,
            values=(Value("input", "Tensor", 7, shape=(2, 24, 20, 3)),),
            layer=layer,
            arguments=("self", "input"),
        ),
    )
    made = [made_of(serial, "from_numpy", (24, 20, 3), Place("train.py", 7)) for serial in (1, 2)]
    story = [made_of(3, "stack", (2, 24, 20, 3), Place("train.py", 4)), *made]
    asked = Question("story", "1-1", {"frame": 0, "text": "x"})
    answer = Answer(asked, {"operations": [asdict(one) for one in story]})
    seen = Recording([Script("train.py", text), crash(*frames), answer])
    (finding,) = RULE.look(seen)
    assert finding.place == Place("train.py", 7)
    there, before = finding.fixes
    assert there.edit is not None
    assert "return torch.from_numpy(pictures[i]).permute(2, 0, 1)\n" in patched(there.edit, text)
    assert before.text == "Or before the model: `x = x.permute(0, 3, 1, 2)`."


def made_of(serial: int, name: str, shape: tuple[int, ...], place: Place) -> Operation:
    return Operation(serial, name, place, place, True, shape, "float32", True)
