"""Axes lost and added, told by the operations of a second run; layers that got what they take."""

from textwrap import dedent

import pytest

from failed_operations import crash
from looking import look
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Frame, Layer, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.model.wrong_number_of_axes import RULE

TEXT = dedent(
    """\
    class Rows(Dataset):
        def __getitem__(self, i):
            return {row}, self.y[i]
    data = {data}
    for x, y in loader:
        x = {batch}
        out = net(x)
    """
)
Shape = tuple[int, ...]


def recording(
    kind: str,
    shape: Shape,
    *,
    row: str = "self.x[i]",
    data: str = "torch.randn(64, 20, 31)",
    batch: str = "x.float()",
    sizes: dict[str, int] | None = None,
    argument: str = "input",
) -> Recording:
    layer = Layer(kind, "read", "Net", Place("train.py", 7), sizes=sizes or {})
    x = Value("x", "Tensor", 7, shape=shape, dtype="float32", device="cpu")
    file = "transformers/models/m.py" if argument == "inputs_embeds" else "torch/nn/modules/m.py"
    frames = (
        Frame(Place("train.py", 7), "<module>", True, "out = net(x)", "net(x)", values=(x,)),
        Frame(
            Place(file, 1),
            f"{kind}.forward",
            False,
            values=(Value(argument, "Tensor", 7, shape=shape),),
            layer=layer,
            arguments=("self", argument),
        ),
    )
    text = TEXT.format(row=row, data=data, batch=batch)
    return Recording([Script("train.py", text), crash(*frames)])


def found(recording: Recording) -> list[Finding]:
    return look(RULE, recording.observations)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("LSTM", (8, 20, 31)),
        ("LSTM", (20, 31)),
        ("Conv2d", (8, 3, 16, 16)),
        ("BatchNorm1d", (8, 31)),
        ("Linear", (8, 20, 4, 31)),
        ("LayerNorm", (31,)),
        ("Net", (8,)),
    ],
)
def test_silence(kind: str, shape: Shape) -> None:
    assert found(recording(kind, shape)) == []
    assert found(recording("BertModel", (8, 20, 31), argument="inputs_embeds")) == []


def test_more_axes_than_a_layer_takes_are_counted() -> None:
    (finding,) = found(recording("LSTM", (8, 4, 20, 31)))
    assert finding.headline.startswith("`read` takes 3 axes (rows, steps and features) and was")
    (finding,) = found(recording("BertModel", (8, 31), argument="inputs_embeds"))
    assert "`inputs_embeds` of" in finding.headline
