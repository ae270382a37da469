"""Optimizers without anything to step, on hand-made recordings."""

from failed_operations import crash, span_of
from surefit.doctor.findings import Finding, Place
from surefit.doctor.observations import Answer, Frame, Json, Question, Script, Value
from surefit.doctor.recording import Recording
from surefit.laws.crashes import violations_in
from surefit.rules.optimizer.no_parameters import RULE
from surefit.source.edits import patched

CLASS = """\
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2)]
model = Net()
"""
REGISTERED: dict[str, Json] = {"kind": "Net", "parameters": 4, "trainable": 4, "hidden": []}
HIDDEN: dict[str, Json] = {
    "kind": "Net",
    "parameters": 0,
    "trainable": 0,
    "hidden": [{"owner": "Net", "name": "layers", "holder": "list", "modules": 1, "parameters": 2}],
}


def found(text: str, given: str, said: Json, groups: int = 0) -> list[Finding]:
    call = f"torch.optim.SGD({given}, lr=0.1)"
    text += f"optimizer = {call}\n"
    line = text.count("\n")
    empty = Value("param_groups", "list", 1, length=groups)
    frames = (
        Frame(Place("train.py", line), "<module>", True, call, call, span_of(text, line, call)),
        Frame(Place("torch/optim/optimizer.py", 9), "Optimizer.__init__", False, values=(empty,)),
    )
    answer = Answer(Question("own-parameters", "1-1", {"frame": 0, "text": "model"}), said)
    recording = Recording([Script("train.py", text), crash(*frames), answer])
    return list(RULE.look(recording, violations_in(recording, [])))


def test_layers_in_a_plain_list() -> None:
    (finding,) = found(CLASS, "model.parameters()", HIDDEN)
    assert finding.place.line == 6
    edit = finding.fixes[0].edit
    assert edit is not None
    assert "self.layers = nn.ModuleList([nn.Linear(2, 2)])" in patched(edit, CLASS)


def test_a_generator_that_was_counted_before() -> None:
    text = CLASS + "params = model.parameters()\nprint(sum(one.numel() for one in params))\n"
    (finding,) = found(text, "params", REGISTERED)
    assert finding.place.line == 8
    edit = finding.fixes[0].edit
    assert edit is not None
    assert "params = list(model.parameters())" in patched(edit, text)


def test_all_of_them_are_frozen() -> None:
    text = CLASS + "for one in model.parameters():\n    one.requires_grad = False\n"
    given = "[one for one in model.parameters() if one.requires_grad]"
    (finding,) = found(text, given, {**REGISTERED, "trainable": 0})
    assert finding.place.line == 9
    assert [fix.choice for fix in finding.fixes] == [True, True]


def test_another_failure_of_an_optimizer() -> None:
    assert found(CLASS, "model.parameters()", REGISTERED, groups=1) == []
