"""Axes lost and added, told by the operations of a second run; layers that got what they take."""

from dataclasses import asdict
from textwrap import dedent

import pytest

from failed_operations import crash, operation
from surefit.doctor.conditions.values import ValuesAt
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Layer, Operation, Question, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.model import feature_width_mismatch
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
    *story: Operation,
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
    question = Question("story", "1-1", {"frame": 1, "text": argument})
    answer = Answer(question, {"operations": [asdict(one) for one in story]})
    return Recording([Script("train.py", text), crash(*frames), answer])


def found(seen: Recording) -> list[Finding]:
    return list(RULE.look(seen))


STACKED = operation(9, "stack", (8, 1, 20, 31), (7, 8), 5, own=False)


def test_an_axis_that_the_dataset_adds_is_left_out_there() -> None:
    story = (
        STACKED,
        operation(7, "unsqueeze", (1, 20, 31), (6,), 3),
        operation(8, "unsqueeze", (1, 20, 31), (6,), 3),
        operation(6, "__getitem__", (20, 31), (1,), 3),
        operation(1, "randn", (64, 20, 31), (), 4),
    )
    (finding,) = found(recording("LSTM", (8, 1, 20, 31), *story, row="self.x[i].unsqueeze(0)"))
    assert finding.place == Place("train.py", 3)
    assert "`.unsqueeze(0)` adds an axis of size 1" in finding.headline
    (fix,) = finding.fixes
    assert fix.text == "Leave the extra axis out: `self.x[i]`."
    assert isinstance(fix.must, ValuesAt)
    assert fix.must.wanted[0].shape == (8, 20, 31)


def test_an_average_over_steps_is_taken_back() -> None:
    story = (
        operation(5, "mean", (8, 31), (4,), 6),
        operation(4, "stack", (8, 20, 31), (2, 3), 5, own=False),
        operation(3, "__getitem__", (20, 31), (1,), 5, own=False),
        operation(2, "__getitem__", (20, 31), (1,), 5, own=False),
        operation(1, "randn", (64, 20, 31), (), 4),
    )
    seen = recording("BertModel", (8, 31), *story, batch="x.mean(1)", argument="inputs_embeds")
    (finding,) = found(seen)
    assert finding.place == Place("train.py", 6)
    assert finding.headline == (
        "`inputs_embeds` of `read` takes 3 axes (rows, steps and features) and was given (8, 31):"
        " `.mean(1)` takes axis 1 away."
    )
    assert isinstance(finding.fixes[0].must, ValuesAt)
    assert finding.fixes[0].must.wanted[0].shape == (8, None, 31)


def test_an_average_of_an_array_is_read_from_source() -> None:
    data = 'torch.from_numpy(np.load("a.npy").astype("float32").mean(axis=1))'
    story = operation(1, "from_numpy", (8, 31), (), 4)
    seen = recording("BertModel", (8, 31), story, data=data, argument="inputs_embeds")
    (finding,) = found(seen)
    assert finding.place == Place("train.py", 4)
    assert "`.mean(axis=1)` takes axis 1 away" in finding.headline


def test_squeeze_without_an_axis_and_a_batch_of_one_row() -> None:
    story = (
        operation(5, "squeeze", (12,), (4,), 6),
        operation(4, "given", (1, 12, 1), (), 5),
    )
    (finding,) = found(recording("BatchNorm1d", (12,), *story, batch="x.squeeze()"))
    assert "where a batch has only one" in finding.headline
    assert finding.fixes[0].text == "Say which axis is meant: `x.squeeze(-1)`."


def test_data_that_were_saved_with_an_axis_of_one() -> None:
    story = (
        operation(2, "split", (1, 64, 20, 31), (1,), 5),
        operation(1, "randn", (1, 64, 20, 31), (), 4),
    )
    data = "torch.randn(1, 64, 20, 31)"
    (finding,) = found(recording("GRU", (1, 64, 20, 31), *story, data=data))
    assert finding.place == Place("train.py", 4)
    assert f"`{data}.squeeze(0)`" in finding.fixes[0].text
    assert isinstance(finding.fixes[0].must, ValuesAt)
    assert finding.fixes[0].must.wanted[0].shape == (None, 20, 31)


def test_a_row_without_a_batch_is_put_into_one() -> None:
    story = (
        operation(2, "__getitem__", (3, 16, 16), (1,), 6),
        operation(1, "randn", (64, 3, 16, 16), (), 4),
    )
    (finding,) = found(recording("BatchNorm2d", (3, 16, 16), *story, batch="data[i]"))
    assert finding.fixes[0].text == "Give it a batch of one row: `data[i].unsqueeze(0)`."


def test_rows_of_workers_are_looked_up_in_source() -> None:
    story = operation(11, "empty", (8, 1, 20, 31), (), 5, own=False)
    (finding,) = found(recording("GRU", (8, 1, 20, 31), story, row="self.x[i][None]"))
    assert finding.place == Place("train.py", 3)


def test_several_windows_in_a_row_are_the_users_choice() -> None:
    story = operation(1, "randn", (8, 6, 20, 31), (), 4)
    (finding,) = found(recording("MultiheadAttention", (8, 6, 20, 31), story, argument="query"))
    assert finding.place == Place("train.py", 7)
    assert finding.fixes[0].edit is None
    assert finding.fixes[0].why_not_tried


def test_a_convolution_that_took_rows_for_channels() -> None:
    story = (
        operation(5, "mean", (8, 20), (4,), 6),
        operation(4, "given", (8, 20, 31), (), 5),
    )
    sizes = {"in_channels": 20}
    seen = recording("Conv1d", (8, 20), *story, batch="x.mean(-1)", sizes=sizes)
    (finding,) = found(seen)
    assert finding.place == Place("train.py", 6)
    assert list(feature_width_mismatch.RULE.look(seen)) == []


def test_a_width_alone_is_another_rule() -> None:
    """No operation has taken an axis away: the layer and its input differ in width."""
    story = operation(1, "randn", (8, 31), (), 4)
    seen = recording("Conv1d", (8, 31), story, sizes={"in_channels": 20})
    assert found(seen) == []
    assert len(list(feature_width_mismatch.RULE.look(seen))) == 1


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
