"""Logits of two widths in a loss that compares them, on hand-made recordings."""

import pytest

from recorded_losses import LossCrash, tensor
from surefit.doctor.findings import Place
from surefit.doctor.observations import Layer, Value
from surefit.rules.distillation.logit_widths import RULE

LOOP = """
    for text in texts():
        wanted = teacher(text)
        given = student(text)
        loss = criterion(log_softmax(given, -1), softmax(wanted, -1))
    """


def model(name: str, number: int) -> Value:
    return Value(name, "GPT", number, layer=Layer("GPT", "", "GPT", Place("train.py", 1)))


def crash(
    given: tuple[int, ...], target: tuple[int, ...], function: str = "kl_div", same: bool = False
) -> LossCrash:
    return LossCrash(
        LOOP,
        tensor("a", given),
        tensor("b", target),
        function=function,
        values=(
            tensor("given", given),
            tensor("wanted", target),
            model("student", 5),
            model("teacher", 5 if same else 6),
        ),
    )


@pytest.mark.parametrize("function", ["kl_div", "mse_loss"])
def test_both_models_are_named_and_nothing_is_tried(function: str) -> None:
    (finding,) = crash((4, 7, 60), (4, 7, 64), function).found(RULE)
    assert "`given` is 60 wide and `wanted` is 64" in finding.headline
    assert [fact.name for fact in finding.facts] == ["`given`", "`wanted`", "entries more"]
    assert "by `teacher`, GPT" in finding.facts[1].value
    assert all(fix.edit is None and fix.why_not_tried for fix in finding.fixes)
    assert len(finding.fixes) == (2 if function == "kl_div" else 3)


@pytest.mark.parametrize(
    "one",
    [
        crash((4, 7, 60), (4, 6, 64)),
        crash((4, 7, 60), (4, 7, 60)),
        crash((4, 1), (4, 2), "mse_loss"),
        crash((4, 7, 60), (4, 7, 64), "mse_loss", same=True),
    ],
    ids=["other rows", "equal", "no vocabulary", "one model"],
)
def test_silence(one: LossCrash) -> None:
    assert one.found(RULE) == []
