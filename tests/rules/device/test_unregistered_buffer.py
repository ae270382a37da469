"""Plain attributes that a move left behind; tensors that were never part of a module are not."""

from textwrap import dedent
from typing import Any

from failed_operations import crash, operation, story, weight
from surefit.doctor.conditions.values import ValuesAt
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Layer, Question, Script, Value
from surefit.doctor.recording import Recording
from surefit.rules.device.unregistered_buffer import RULE

TEXT = dedent(
    """\
    class Positions(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.zeros(1, 64, 8)
        def forward(self, x):
            return x + self.table[:, : x.shape[1]]
    """
)
X = Value("x", "Tensor", 1, shape=(4, 9, 8), dtype="float32", device="meta")
TABLE = Value("self.table", "Tensor", 2, shape=(1, 64, 8), dtype="float32", device="cpu")
FRAME = Frame(
    Place("train.py", 6),
    "Positions.forward",
    own=True,
    line="return x + self.table[:, : x.shape[1]]",
    expression="x + self.table[:, : x.shape[1]]",
    values=(X, TABLE),
    layer=Layer("Positions", "positions", "Model", own=True),
    arguments=("self", "x"),
)
LINEAR = Layer("Linear", "inner", "Model")
STORY = story(
    operation(9, "add", (), (8, 7), line=6),
    operation(8, "linear", (4, 9, 8), (1, 2), line=2, device="meta"),
    operation(7, "__getitem__", (1, 9, 8), (6,), line=6),
    operation(6, "zeros", (1, 64, 8), line=4),
    weight(2, LINEAR, (8, 8), device="meta"),
    operation(1, "randn", (4, 9, 8), line=1, device="meta"),
)


def held(*plain: dict[str, Any]) -> Answer:
    said = {"plain": list(plain), "devices": [], "dtypes": []}
    return Answer(Question("plain-tensors", "1-1", {"frame": 0}), said)


def attribute(name: str = "table", device: str = "cpu") -> dict[str, Any]:
    return {
        "name": name,
        "shape": [1, 64, 8],
        "dtype": "float32",
        "device": device,
        "learned": False,
    }


def found(*answers: Answer, text: str = TEXT) -> list[Finding]:
    return list(RULE.look(Recording([Script("train.py", text), crash(FRAME), *answers])))


def test_an_attribute_that_stayed_behind_is_named_where_it_is_set() -> None:
    (finding,) = found(STORY, held(attribute()))
    assert finding.place == Place("train.py", 4, 4)
    assert finding.headline == (
        "`self.table` of `Positions` is a plain attribute, no registered buffer, so that"
        " `.to('meta')` left it on cpu."
    )
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert fix.edit.changes[0].text == 'self.register_buffer("table", torch.zeros(1, 64, 8))'
    assert isinstance(fix.must, ValuesAt)
    assert fix.must.wanted[0].device == "meta"
    assert fix.must.wanted[0].shape == (1, 64, 8)


def test_an_attribute_that_was_moved_is_not_to_blame() -> None:
    assert found(STORY, held(attribute(device="meta"))) == []


def test_an_attribute_that_forward_does_not_read_is_not_to_blame() -> None:
    assert found(STORY, held(attribute("other"))) == []


def test_nothing_is_said_until_a_second_run_has_told_the_story() -> None:
    assert found(held(attribute())) == []


def test_an_attribute_that_is_set_again_and_again_gets_no_edit() -> None:
    again = TEXT + "    def reset(self):\n        self.table = torch.zeros(1, 64, 8)\n"
    (finding,) = found(STORY, held(attribute()), text=again)
    assert finding.fixes[0].edit is None
    assert finding.fixes[0].why_not_tried
