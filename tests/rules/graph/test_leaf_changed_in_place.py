"""Leaves that are written to while recording, and the lines that only look so."""

import pytest

from graph_recordings import FILE, after, backward_crash, found, script, tensor
from surefit.doctor.conditions.values import ValuesAt, Wanted
from surefit.doctor.observations import Answer, Crash, Question, Script
from surefit.rules.graph.leaf_changed_in_place import RULE


def recording(
    one: Script, part: str, text: str, leaf: bool = True, grad: bool = True
) -> tuple[object, ...]:
    plain = backward_crash(one, part, in_backward=False)
    own = plain.frames[0]
    value = tensor(text, requires_grad=grad)
    frame = type(own)(own.place, own.function, True, part, part, own.span, (value,))
    crash = Crash("1-1", 1.0, plain.process, "RuntimeError", "RuntimeError: x", (frame,))
    question = Question("leaf", "1-1", {"frame": 0, "text": text})
    return one, crash, Answer(question, {"leaf": leaf})


@pytest.mark.parametrize(
    ("line", "text"),
    [("w -= rate * w.grad", "w"), ("w[0] = 1", "w"), ("layer.weight.fill_(1.0)", "layer.weight")],
)
def test_the_line_goes_under_no_grad(line: str, text: str) -> None:
    one = script(f"import torch\n{line}\n")
    (finding,) = found(RULE, *recording(one, line, text))
    assert finding.place.file == FILE
    assert after(one, finding) == f"import torch\nwith torch.no_grad():\n    {line}\n"


def test_updates_of_one_kind_go_together() -> None:
    one = script("import torch\nw -= 1\nb -= 1\nprint(w)\n")
    (finding,) = found(RULE, *recording(one, "w -= 1", "w"))
    assert "torch.no_grad():\n    w -= 1\n    b -= 1\nprint" in after(one, finding)


@pytest.mark.parametrize(("leaf", "grad"), [(False, True), (True, False)])
def test_what_is_no_leaf_or_wants_no_gradient_is_silent(leaf: bool, grad: bool) -> None:
    one = script("import torch\nw -= 1\n")
    assert found(RULE, *recording(one, "w -= 1", "w", leaf, grad)) == []


def test_a_line_under_no_grad_failed_for_another_reason() -> None:
    one = script("import torch\nwith torch.no_grad():\n    w -= 1\n")
    assert found(RULE, *recording(one, "w -= 1", "w")) == []


def test_a_loop_may_write_into_leaves_of_any_shape() -> None:
    one = script("import torch\nfor w in weights:\n    w.mul_(0.9)\n")
    (finding,) = found(RULE, *recording(one, "w.mul_(0.9)", "w"))
    condition = finding.fixes[0].must
    assert isinstance(condition, ValuesAt)
    assert condition.wanted == (Wanted("w", requires_grad=True),)
