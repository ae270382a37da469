"""Tensors of inference mode that a layer must keep for backward."""

from dataclasses import replace

from graph_recordings import after, backward_crash, found, script
from surefit.doctor.observations import Answer, Layer, Question
from surefit.rules.graph.inference_tensor_in_training import RULE

SCRIPT = script(
    """
    import torch
    with torch.inference_mode():
        features = teacher(rows)
    loss = student(features)
    """
)
LAYER = Layer("Linear", parameters={"weight": (4, 4)})
CRASH = replace(backward_crash(SCRIPT, "student(features)", in_backward=False), layer=LAYER)


def answer(*texts: str) -> Answer:
    names = ["features"]
    said = {"names": names if texts else [], "in_the_call": list(texts)}
    return Answer(Question("inference-tensors", "1-1"), said)


def test_the_block_becomes_no_grad() -> None:
    (finding,) = found(RULE, SCRIPT, CRASH, answer("input"))
    assert finding.place.line == 2
    assert "with torch.no_grad():\n    features" in after(SCRIPT, finding)


def test_another_failure_of_the_layer_is_silent() -> None:
    assert found(RULE, SCRIPT, CRASH, answer()) == []
    assert found(RULE, SCRIPT, replace(CRASH, layer=None), answer("input")) == []


def test_without_a_block_in_the_source_nothing_is_said() -> None:
    other = script("loss = student(features)\n")
    crash = replace(backward_crash(other, "student(features)", in_backward=False), layer=LAYER)
    assert found(RULE, other, crash, answer("input")) == []
