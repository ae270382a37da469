"""Plain attributes that a move left behind; tensors that were never part of a module are not."""

from typing import Any

import pytest

from operand_recordings import own, said
from surefit.doctor.conditions.values import ValuesAt
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Layer, Question, Value
from surefit.rules.device.tensor_not_moved import RULE as NOT_MOVED
from surefit.rules.device.unregistered_buffer import RULE
from surefit.source.reading import Source

TEXT = """\
class Positions(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.zeros(1, 64, 8)
    def forward(self, x):
        return x + self.table
"""
X = Value("x", "Tensor", 1, shape=(4, 64, 8), dtype="float32", device="meta")
TABLE = Value("self.table", "Tensor", 2, shape=(1, 64, 8), dtype="float32", device="cpu")


def held(name: str = "table", device: str = "cpu") -> Answer:
    plain: dict[str, Any] = {"name": name, "shape": [1, 64, 8], "dtype": "float32"}
    said = {"plain": [{**plain, "device": device, "learned": False}]}
    return Answer(Question("plain-tensors", "1-1", {"frame": 0}), said)


def found(*answers: Answer, text: str = TEXT, rule: Any = RULE) -> list[Finding]:
    source = Source("train.py", text)
    frame = own(
        source,
        "x + self.table",
        X,
        TABLE,
        function="Positions.forward",
        layer=Layer("Positions", "positions", "Model", own=True),
        arguments=("self", "x"),
    )
    return said(rule, source, [frame], {}, *answers)


def test_an_attribute_that_stayed_behind_is_named_where_it_is_set() -> None:
    (finding,) = found(held())
    assert finding.place == Place("train.py", 4, 4)
    assert "`self.table` of `Positions` is a plain attribute" in finding.headline
    (fix,) = finding.fixes
    assert fix.edit is not None
    assert fix.edit.changes[0].text == 'self.register_buffer("table", torch.zeros(1, 64, 8))'
    assert isinstance(fix.must, ValuesAt)
    assert fix.must.wanted[0].device == "meta"
    assert found(held(), rule=NOT_MOVED) == []


@pytest.mark.parametrize("answer", [held(device="meta"), held("other")], ids=["moved", "unread"])
def test_another_attribute_is_not_to_blame(answer: Answer) -> None:
    assert found(answer) == []
    assert len(found(answer, rule=NOT_MOVED)) == 1


def test_nothing_is_said_until_the_module_was_looked_at() -> None:
    assert found() == []


def test_an_attribute_that_is_set_again_and_again_gets_no_edit() -> None:
    again = TEXT + "    def reset(self):\n        self.table = torch.ones(1, 64, 8)\n"
    (finding,) = found(held(), text=again)
    assert finding.fixes[0].edit is None
    assert finding.fixes[0].choice
