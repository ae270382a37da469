"""Pictures with channels last, or without any; maps that a layer has made are another matter."""

from textwrap import dedent

import pytest

from failed_operations import crash
from looking import look
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Frame, Layer, Script, Value
from surefit.rules.model.pictures_in_another_layout import RULE

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
    return look(RULE, [script, crash(*frames)])


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
