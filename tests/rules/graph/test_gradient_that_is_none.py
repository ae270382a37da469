"""Lines that compute with a gradient that was never made."""

from dataclasses import replace

from graph_recordings import after, backward_crash, found, script
from surefit.doctor.observations import Answer, Crash, Json, Question, Value
from surefit.rules.graph.gradient_that_is_none import RULE

SCRIPT = script(
    """
    for p in model.parameters():
        total += p.grad.norm()
    """
)
NONE = Value("p.grad", "NoneType")


def crash(value: Value = NONE) -> Crash:
    plain = backward_crash(SCRIPT, "p.grad.norm", in_backward=False)
    return replace(plain, frames=(replace(plain.frames[0], values=(value,)),))


def answer(with_one: int, **more: list[str]) -> Answer:
    said: dict[str, Json] = {"root": "Net", "present": with_one, "frozen": [], "unused": [], **more}
    return Answer(Question("missing-gradients", "1-1"), said)


def test_unused_parameters_are_named_and_passed_over() -> None:
    (finding,) = found(RULE, SCRIPT, crash(), answer(4, unused=["aux.weight"]))
    assert "`aux.weight`" in finding.headline
    changed = after(SCRIPT, finding).splitlines()
    assert changed[1:3] == ["    if p.grad is None:", "        continue"]


def test_without_any_gradient_the_order_is_wrong() -> None:
    (finding,) = found(RULE, SCRIPT, crash(), answer(0, unused=["a", "b"]))
    assert "no backward pass" in finding.headline
    assert finding.fixes[0].edit is None


def test_another_none_is_silent() -> None:
    assert found(RULE, SCRIPT, crash(Value("p.other", "NoneType")), answer(4)) == []
    assert found(RULE, SCRIPT, crash(Value("p.grad", "Tensor")), answer(4)) == []
    assert found(RULE, SCRIPT, crash()) == []
